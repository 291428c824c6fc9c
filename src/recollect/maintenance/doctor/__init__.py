"""Runs the named checks of `recollect doctor`; none of them changes anything."""
