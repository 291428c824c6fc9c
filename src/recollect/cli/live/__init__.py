"""Starts, stops and describes the daemon for `recollect up` and `recollect watch`."""
