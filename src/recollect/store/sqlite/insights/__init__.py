"""Stores digests, signals and nodes, and the feed of sessions that are due."""
