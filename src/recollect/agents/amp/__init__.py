"""Amp: threads as its clients keep them on this machine."""
