"""What a compute unit does: linalg and scalar ops of a stage as vector ops."""
