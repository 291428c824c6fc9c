"""Helps you test against Recollect: builders of transcripts, strategies, the conformance suite."""
