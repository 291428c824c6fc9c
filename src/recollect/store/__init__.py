"""Stores events and everything derived from them in one SQLite database; no SQL leaves this package."""
