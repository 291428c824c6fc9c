"""What several parsers share: records, calls, edits, usage and times."""
