"""Glue for other programs' libraries. Each module imports its library only when it is used."""
