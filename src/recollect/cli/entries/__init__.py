"""What `recollect learnings` and `recollect actions` do, apart from their options."""
