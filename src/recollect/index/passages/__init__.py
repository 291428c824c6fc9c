"""Passages: what a contextual model compares a question with, and what an answer shows of an event."""
