"""What a memory is made of: events, sessions, usage, provenance, capabilities. Pure data, no I/O."""
