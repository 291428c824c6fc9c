"""Learns from due sessions, by rules and, if configured, with a model, and stores the result."""
