"""Prints what was learned, noted and documented."""
