"""What was learned, noted and documented, as text."""
