"""Scalar bodies: regions become SSA lists, reductions become combiners."""
