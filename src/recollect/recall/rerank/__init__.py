"""Ranks the best candidates again with their texts at hand."""
