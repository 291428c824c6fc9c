"""Answers questions: search, sessions, timelines, context, blame, all ranked and cited."""
