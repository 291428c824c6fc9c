"""Stores facts, diaries and tags in small writes that need no ingest lock."""
