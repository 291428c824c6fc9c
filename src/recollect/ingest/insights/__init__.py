"""What sessions mean, kept: analyses that are due, one session at a time, then what they have to do with each other."""
