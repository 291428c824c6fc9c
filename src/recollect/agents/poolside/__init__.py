"""Poolside's agent: trajectories of events, each with one payload named for its type."""
