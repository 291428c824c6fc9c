"""Entries in the database: what was learned, noted and documented, as a search finds it."""
