"""Crush, which was a Go tool called OpenCode: one database per project."""
