"""What runs together: statements made regular, grouped into phases, their iteration spaces and storage."""
