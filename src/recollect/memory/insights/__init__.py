"""What sessions mean, as a memory gives it: digests, nodes, decisions, and the making of them."""
