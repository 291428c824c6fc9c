"""What was learned and noted, and the person's own files, as sources of a context."""
