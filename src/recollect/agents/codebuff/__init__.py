"""Codebuff and Freebuff: a document of messages whose blocks hold texts, tools and whole subagents."""
