"""Chooses what a bulk import takes: surveys sources, and leaves out what you did not ask for."""
