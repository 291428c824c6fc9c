"""Setting up agents: what is found, what would be written, writing it, taking it out again, and looking after it."""
