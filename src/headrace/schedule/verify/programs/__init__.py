"""What the programs of units do, one by one: values, events, loops, what they touch of device memory."""
