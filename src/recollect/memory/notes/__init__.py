"""What was learned, noted and documented: the facets of an open memory for each."""
