"""Clients of outside services: the only code that uses a network, and only with redacted text."""
