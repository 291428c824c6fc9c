"""What sessions mean, as text."""
