"""Keeps a memory fresh in one long-lived process, and lets other processes ask it."""
