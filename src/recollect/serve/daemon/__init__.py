"""The daemon's process: the loop that keeps the memory fresh, the socket of hooks, HTTP, signals, its log."""
