"""What was learned, what was written down on purpose, and the texts beside sessions that a search may find."""
