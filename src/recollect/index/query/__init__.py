"""Turns the text of a query into a typed question, and that into ranked candidates."""
