"""Backs a memory up and restores it."""
