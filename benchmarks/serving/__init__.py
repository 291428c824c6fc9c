"""Benchmarks of what stays and serves."""
