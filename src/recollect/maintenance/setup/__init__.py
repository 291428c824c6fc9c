"""Sets agents up to use the memory, and undoes that."""
