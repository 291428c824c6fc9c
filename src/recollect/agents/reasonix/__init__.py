"""Reasonix: an event log of messages per session, a checkpoint, and the session's facts beside it."""
