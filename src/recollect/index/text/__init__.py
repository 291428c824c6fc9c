"""The word index: terms of stored texts, written to shards and read again."""
