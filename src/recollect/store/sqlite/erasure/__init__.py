"""Taking away what is stored: holes in revisions, the rows of evicted sessions, what is forgotten."""
