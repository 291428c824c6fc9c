"""What sessions meant, as data: signals, nodes, digests."""
