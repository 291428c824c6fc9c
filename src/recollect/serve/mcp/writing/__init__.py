"""The tools that write, available only if you turn them on."""
