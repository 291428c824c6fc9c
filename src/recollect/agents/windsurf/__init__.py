"""Windsurf: transcripts and payloads of Cascade's hooks, and the older chat in the workspaces' stores."""
