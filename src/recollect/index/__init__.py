"""Finds events by words and by meaning; all of it can be deleted and rebuilt from the store."""
