"""Element types, rounding, device memory and tolerances: what every other room means by a number."""
