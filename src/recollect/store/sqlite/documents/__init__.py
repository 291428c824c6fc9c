"""Stores collections of project documents and their files."""
