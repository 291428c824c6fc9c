"""`memory.notes`: facts, diaries, tags, imported palaces, and undoing a batch."""
