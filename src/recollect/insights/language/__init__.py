"""Reads prose in several languages: packs as data, and the analyser that applies them."""
