"""Keeps the memory within its limits: which sessions go, in which order, and what stays of them."""
