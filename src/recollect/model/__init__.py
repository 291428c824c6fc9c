"""The data of a memory: events, sessions, usage, provenance, capabilities, times."""
