"""Turns the text of a query into a typed question."""
