"""Watches the folders of agents, by notifications or by polling, and tells which paths changed."""
