"""Ingests project documents, one pass over the folder of a collection."""
