"""OpenClaude: Claude Code's format in its own home."""
