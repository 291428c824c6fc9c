"""The facets that answer what sessions mean: digests, decisions, blame, retrospectives."""
