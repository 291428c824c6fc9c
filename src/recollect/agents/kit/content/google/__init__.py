"""Shapes of Google's agents: content in parts, and messages as Gemini CLI records them."""
