"""Shapes of the agents that copied Claude Code's records."""
