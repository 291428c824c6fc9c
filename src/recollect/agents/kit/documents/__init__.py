"""What parsers of documents that are rewritten as a whole have in common: names by content, and calls with edits."""
