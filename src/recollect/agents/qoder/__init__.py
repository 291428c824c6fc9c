"""Qoder CLI."""
