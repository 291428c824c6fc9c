"""Antigravity: the plain transcripts and plans beside its encrypted conversations."""
