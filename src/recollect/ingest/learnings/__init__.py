"""Learns from the sessions that are due, by rules and, if configured, by asking a model, and stores the result."""
