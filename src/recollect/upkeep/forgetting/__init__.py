"""Forgetting: what is meant, what must not come back, and what was done. Carrying it out is the pipeline's."""
