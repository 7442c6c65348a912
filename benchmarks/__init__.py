"""What is measured, how to repeat it, and the kernels it is measured on."""
