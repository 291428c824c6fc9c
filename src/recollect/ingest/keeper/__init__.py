"""Keeps a memory fresh in one long-running process and answers other processes."""
