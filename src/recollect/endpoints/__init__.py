"""Clients of outside models. The only code that reaches a network; only redacted text is given to it."""
