"""Keeping the memory within its bounds: what may go, in which order, and what stays of it."""
