"""Analyses the sessions that are due and stores what they mean."""
