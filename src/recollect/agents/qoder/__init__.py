"""Qoder CLI: transcripts of sessions and of their subagents."""
