"""The session events of GitHub's Copilot runtime: one envelope, an open set of types.

Copilot CLI and the Copilot extension of VS Code write the same stream.
"""
