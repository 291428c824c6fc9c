"""Forge: its database of conversations."""
