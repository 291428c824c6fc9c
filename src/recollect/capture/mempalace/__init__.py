"""Reads the directory of MemPalace, another memory: its drawers, diaries and knowledge graph."""
