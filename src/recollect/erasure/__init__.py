"""Deletes data: forgets what you name, evicts what retention limits demand, and blocks its return."""
