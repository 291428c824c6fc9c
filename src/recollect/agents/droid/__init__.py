"""Factory Droid: transcripts with Anthropic blocks, and a settings file with totals beside each."""
