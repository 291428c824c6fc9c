"""The web pages of the daemon: they show, and change nothing."""
