"""The wrapping key of a home: where it is kept, what it seals, and how another takes its place."""
