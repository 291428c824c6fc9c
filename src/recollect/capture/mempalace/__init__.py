"""Reads the directory of another memory, MemPalace: its drawers, diaries and knowledge graph. Nothing is written."""
