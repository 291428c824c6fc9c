"""Checks, repairs, copies and exports a memory, and installs it on a machine."""
