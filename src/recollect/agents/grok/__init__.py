"""Grok Build (xAI): session folders with an update stream, a model-facing history and sidecars."""
