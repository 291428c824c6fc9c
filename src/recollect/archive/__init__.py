"""Keeps the exact bytes: content-defined chunks, sealed in packs, with a journal that can rebuild everything else."""
