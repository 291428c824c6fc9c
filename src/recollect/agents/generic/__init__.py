"""Agents that the configuration describes: a few lines of TOML instead of a parser."""
