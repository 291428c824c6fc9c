"""Joins what learning needs: the change log, sessions, the extractor, a model if there is one, the store."""
