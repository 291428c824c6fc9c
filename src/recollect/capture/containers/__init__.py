"""The ways agents write, one reader each: append-only lines, whole-file text, whole-file JSON."""
