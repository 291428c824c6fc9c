"""Makes anew what was derived under older rules."""
