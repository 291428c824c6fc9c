"""Keeps the exact bytes: content-defined chunks in sealed packs, and a journal from which all else is rebuilt."""
