"""Keeps and gives what was learned, and the work that learning has to do."""
