"""The web page: rendered here, for this user's browser only."""
