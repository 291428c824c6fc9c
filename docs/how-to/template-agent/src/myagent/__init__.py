"""My Agent's transcripts for Recollect."""
