"""Windsurf: Cascade's hook transcripts and payloads, and the older chat in the workspaces' stores."""
