"""Claude Code: transcripts of sessions and subagents, histories, plans and hooks."""
