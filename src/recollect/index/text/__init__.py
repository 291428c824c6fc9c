"""Words of stored texts: how they are cut into terms, written to shards, and read again."""
