"""Codebuff and Freebuff: documents of messages whose blocks hold text, tool calls and whole subagents."""
