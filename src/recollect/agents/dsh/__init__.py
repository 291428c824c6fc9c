"""DeepSeek Harness: an event log per session, in several generations of one format."""
