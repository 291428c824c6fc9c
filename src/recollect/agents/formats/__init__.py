"""Agents described by data: one TOML file each, and the one parser that reads by them."""
