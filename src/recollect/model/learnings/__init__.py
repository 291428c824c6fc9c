"""What was learned and noted, as data, and the entries by which a search finds it."""
