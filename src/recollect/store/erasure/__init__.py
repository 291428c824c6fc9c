"""Erases rows: holes in revisions, evicted sessions, forgotten content."""
