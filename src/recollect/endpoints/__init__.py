"""Clients of outside models: the only code that reaches a network, and only with redacted text."""
