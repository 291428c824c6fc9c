"""Bulk imports: which sessions of all that was found a person wants, and what an import would do with each."""
