"""Repairs damage: archives chunks again, and reconciles archive and database."""
