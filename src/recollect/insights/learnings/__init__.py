"""Extracts learnings from sessions and settles many sightings into one learning."""
