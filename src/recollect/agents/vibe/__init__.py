"""Mistral Vibe: rows of a conversation, with the session's facts in a file beside them."""
