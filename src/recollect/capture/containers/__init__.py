"""Readers for each storage format: lines, whole files, databases and exports."""
