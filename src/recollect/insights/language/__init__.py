"""Reads prose in several languages: packs as data, and the clause analyser that applies them."""
