"""Entries in the search index: what was learned, noted and documented."""
