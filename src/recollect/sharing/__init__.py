"""What this memory shares with a team: repositories, levels, and the push."""
