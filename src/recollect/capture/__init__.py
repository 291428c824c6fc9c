"""Gets bytes in: which sources there are, what changed, and their records. Reads agents' files, never writes them."""
