"""What was learned, noted and documented, as answers show it."""
