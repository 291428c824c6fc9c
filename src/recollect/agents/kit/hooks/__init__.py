"""Payloads that agents give to their hooks, read by declared spellings: one reader for all agents."""
