"""The daemon's process: the keeper's loop, the socket of hooks, HTTP, signals, its log."""
