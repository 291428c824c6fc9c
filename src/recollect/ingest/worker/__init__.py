"""Reads, chunks, seals, parses and redacts one slice of a source, in this process or in others."""
