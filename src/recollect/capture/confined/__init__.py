"""Limits a pass to the paths that changed."""
