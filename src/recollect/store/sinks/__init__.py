"""Writes insights somewhere besides the memory: lines in a file, a database, or your own sink."""
