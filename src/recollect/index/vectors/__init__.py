"""Finds events by meaning: unit vectors in append-only files, nearest first."""

from recollect.index.vectors.embedder import Embedder
from recollect.index.vectors.vector_index import Near, VectorCoverage, VectorIndex

__all__ = ["Embedder", "Near", "VectorCoverage", "VectorIndex"]
