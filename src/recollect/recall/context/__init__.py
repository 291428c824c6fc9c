"""Builds the context for an agent: at session start, after a compaction, before a prompt."""
