"""What people and agents write, as against what is captured: diary, facts, tags, batches that can be undone."""
