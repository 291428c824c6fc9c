"""GitHub Copilot CLI: sessions as lines of typed events."""
