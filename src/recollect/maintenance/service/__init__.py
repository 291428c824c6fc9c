"""Recollect as a service of the system: what would be written and started, doing it, and taking it out again."""
