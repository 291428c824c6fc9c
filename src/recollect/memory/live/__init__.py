"""Live: keeping a memory fresh as agents write, in one process that stays, and asking that process from others."""
