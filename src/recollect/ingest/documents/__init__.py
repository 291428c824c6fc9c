"""Taking in project documents: one pass over a collection's folder, see `refreshing`."""
