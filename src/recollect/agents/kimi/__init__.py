"""Kimi CLI, Kimi Code and Kimi Work."""
