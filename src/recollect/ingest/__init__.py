"""Ingests sources in one pass: discover, read, archive, parse, redact, store, index."""
