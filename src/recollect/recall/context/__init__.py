"""The context that an agent is given: at a session's start, after a compaction, before a prompt."""
