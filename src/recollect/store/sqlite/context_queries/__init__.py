"""Reads the few rows that a context needs of what was learned and noted."""
