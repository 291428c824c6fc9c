"""Posit Assistant: one folder per conversation, with a tree of messages and a log of what the model was sent."""
