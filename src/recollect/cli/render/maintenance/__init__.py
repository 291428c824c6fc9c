"""What looking after a memory did, as text: one module a concern."""
