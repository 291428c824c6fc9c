"""Stores events and everything derived from them, by key, in one SQLite database; no SQL leaves it."""
