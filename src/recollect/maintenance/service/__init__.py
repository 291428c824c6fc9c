"""Installs Recollect as a service of the system, and uninstalls it."""
