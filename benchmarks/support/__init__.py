"""What the benchmarks share: transcripts, questions, measuring, publishing."""
