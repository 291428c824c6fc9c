"""Shelley (exe.dev): a database of conversations and their messages."""
