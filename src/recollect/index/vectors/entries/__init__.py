"""Vectors of entries: what was learned, noted and documented, in files of their own beside those of events."""
