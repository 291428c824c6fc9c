"""Prints what maintenance did: backups, checks, erasure, service."""
