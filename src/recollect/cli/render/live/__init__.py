"""What a daemon tells, for people."""
