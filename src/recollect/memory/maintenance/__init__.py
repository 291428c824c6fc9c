"""`memory.upkeep`: what looks after a memory, one module a concern."""
