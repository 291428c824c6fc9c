"""Reads events, sessions, timelines and usage, one module per question."""
