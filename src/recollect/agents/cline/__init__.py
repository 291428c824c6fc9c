"""Cline: the extension's tasks, the CLI's, and the sessions of its SDK."""
