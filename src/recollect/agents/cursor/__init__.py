"""Cursor: the editor's composer store, the command-line agent's store, and the transcripts of both."""
