"""Brings sources into the memory in one pass: discover, read, archive, parse, redact, store, index."""
