"""Edits of configuration files as text to text: everything else in a file stays as its owner wrote it."""
