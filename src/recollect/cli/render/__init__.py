"""Results as text for people. Every module takes the typed result that `--json` would print."""
