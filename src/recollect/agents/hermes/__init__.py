"""Hermes Agent: its state database, its older session files and the trajectories of batch runs."""
