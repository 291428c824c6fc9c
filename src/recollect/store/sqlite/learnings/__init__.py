"""Stores learnings, their sightings and verdicts, and the jobs of learning."""
