"""Finds events by their words and their meaning; everything here can be deleted and rebuilt from the store."""
