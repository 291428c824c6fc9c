"""Kiro: the CLI (once Amazon Q) and the IDE."""
