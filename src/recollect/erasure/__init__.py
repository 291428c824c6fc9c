"""Deletes: forgets what you name, evicts what the retention limits ask for, and keeps out what must not return."""
