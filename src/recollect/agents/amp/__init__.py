"""Amp: the threads that its clients keep on this machine."""
