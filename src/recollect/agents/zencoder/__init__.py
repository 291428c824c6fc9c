"""Zencoder: one file of messages per session, with a line about the session at its top."""
