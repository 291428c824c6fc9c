"""Test helpers for Recollect: transcript builders, strategies, the conformance suite."""
