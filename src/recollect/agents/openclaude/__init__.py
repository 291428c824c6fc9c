"""OpenClaude: Claude Code's format in a home of its own."""
