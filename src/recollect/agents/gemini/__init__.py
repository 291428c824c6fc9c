"""Gemini CLI: chats, subagents, checkpoints and prompt logs of each project."""
