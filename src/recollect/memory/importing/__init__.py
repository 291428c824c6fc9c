"""Imports before they are done: what one would do."""
