"""Derives everything again from the archive, beside the old, then swaps."""
