"""Turns the arguments of a call into the text of its answer."""
