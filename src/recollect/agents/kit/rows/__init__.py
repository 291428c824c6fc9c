"""What parsers of database rows have in common: names for rows whose ids change when they are rewritten."""
