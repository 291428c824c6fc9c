"""Keeps the vectors of entries (learnings, notes, documents) apart from those of events."""
