"""Serves other programs on this machine: MCP, OTLP, the daemon, web pages; only through `Memory`."""
