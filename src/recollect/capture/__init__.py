"""Finds the sources on this machine, tells what changed in them, and reads their records; it never writes to them."""
