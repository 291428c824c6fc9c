"""iFlow CLI."""
