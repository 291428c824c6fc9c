"""Sums up a span of time: what sessions came to, what they cost, what failed and what fixed it."""
