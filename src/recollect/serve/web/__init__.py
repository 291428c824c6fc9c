"""The web pages of a daemon: they show, and change nothing."""
