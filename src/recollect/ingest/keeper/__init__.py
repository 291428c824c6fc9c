"""Whether a daemon keeps a memory fresh, and what it says: asked from any process, at next to no cost."""
