"""Copies one moment of a memory to files, and restores it."""
