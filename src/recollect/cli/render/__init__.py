"""Renders results as text for people; each module takes the typed result that `--json` prints."""
