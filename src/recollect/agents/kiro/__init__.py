"""Kiro: the CLI (formerly Amazon Q) and the IDE."""
