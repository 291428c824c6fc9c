"""Qwen Code: transcripts of chats and subagents, and prompt logs."""
