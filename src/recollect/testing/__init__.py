"""Shipped for people who write adapters or test against a memory: builders of transcripts."""
