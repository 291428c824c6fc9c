"""Filters over files and pipes: no home is needed, and nothing is left behind."""
