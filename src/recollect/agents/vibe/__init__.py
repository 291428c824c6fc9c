"""Mistral Vibe: rows of a conversation, and a file with the session's facts beside them."""
