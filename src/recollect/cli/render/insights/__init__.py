"""Prints what sessions mean: decisions, digests, blame."""
