"""Observes a session's events: test runs, failures, retries, endings (docs/development/insight-rules.md)."""
