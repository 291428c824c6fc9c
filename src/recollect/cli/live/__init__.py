"""What `recollect up` and `recollect watch` do with a daemon: start one, stop it, tell how it is."""
