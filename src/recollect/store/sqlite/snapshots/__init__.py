"""Copies one moment of a database while others write to it, and compares two moments."""
