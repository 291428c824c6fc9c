"""What agents are given of what was learned and noted: few rows, for a context."""
