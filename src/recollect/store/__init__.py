"""Stores events and everything derived from them, by key, behind typed protocols (`ports`)."""
