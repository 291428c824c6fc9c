"""Erases rows: holes in revisions, evicted sessions, what was forgotten."""
