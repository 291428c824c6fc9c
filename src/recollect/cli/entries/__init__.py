"""Runs `recollect learnings` and `recollect actions`."""
