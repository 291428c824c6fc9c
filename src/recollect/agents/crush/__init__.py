"""Crush (once a Go tool called OpenCode): one database per project."""
