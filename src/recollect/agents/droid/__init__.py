"""Factory Droid: transcripts of messages with Anthropic blocks, and a settings file beside each with its totals."""
