"""Builds the context that an agent is given: at the start of a session, after a compaction, before a prompt."""
