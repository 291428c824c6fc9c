"""Backups: one moment of a memory as files that another machine can take up, and how they are put back."""
