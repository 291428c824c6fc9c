"""Stores entries: what was learned, noted and documented, as a search finds it."""
