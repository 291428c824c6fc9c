"""Holds the key that wraps the keys of a home: where it is kept, and how another key replaces it."""
