"""Watches what agents write: what to watch, by notifications or by looking again and again, and which paths changed."""
