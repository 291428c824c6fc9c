"""Reasonix: an event log of messages per session, a checkpoint of them, and what is known of the session beside it."""
