"""Finds the sources on this machine, detects changes and reads records; it never writes to them."""
