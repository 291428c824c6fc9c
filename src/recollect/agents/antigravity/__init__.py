"""Antigravity: the plain transcripts and plans that its agent writes beside the encrypted conversations."""
