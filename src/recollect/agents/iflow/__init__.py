"""iFlow CLI: transcripts, one file per session."""
