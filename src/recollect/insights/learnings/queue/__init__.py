"""Decides how long work of learning waits: the backoff of one job, the pause of all questions to a model."""
