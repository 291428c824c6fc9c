"""The work that needs no number from the store: slices read, cut, sealed, parsed and redacted, here or elsewhere."""
