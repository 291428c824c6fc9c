"""What people and agents write, as against what is captured: rules of the diary, of facts with their time, of tags."""
