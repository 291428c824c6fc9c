"""`memory.upkeep`: verify, doctor, repair, backup, restore, forget, retention, keys."""
