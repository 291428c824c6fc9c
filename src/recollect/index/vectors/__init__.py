"""Finds events by meaning: unit vectors in append-only files, nearest first."""
