"""TRAE CLI 2 (TraeX): Codex's rollouts in a home of its own."""
