"""Adds to a context what was learned and noted, and your own files."""
