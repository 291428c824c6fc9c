"""What this memory shares with a team: which repositories, at which level, and how it gets there."""
