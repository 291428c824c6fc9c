"""Command Code: one file of messages per session, and its title beside it."""
