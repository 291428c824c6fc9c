"""Filters over files and pipes that need no home and leave nothing behind."""
