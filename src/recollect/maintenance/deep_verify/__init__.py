"""Compares everything derived with what it was derived from (`verify --deep`)."""
