"""Codex: rollouts of the CLI, the editor extension and the desktop app."""
