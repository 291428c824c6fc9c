"""Summarises a period: outcomes, costs, failures and their fixes."""
