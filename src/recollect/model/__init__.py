"""The data that a memory is made of: events, sessions, usage, provenance, capabilities, times."""
