"""Aider: the chat history and the input history that it keeps in a repository."""
