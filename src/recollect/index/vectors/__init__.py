"""Search by meaning: texts as vectors of unit length, kept in files beside the text index, nearest first."""

from recollect.index.vectors.embedder import Embedder
from recollect.index.vectors.vector_index import Near, VectorCoverage, VectorIndex

__all__ = ["Embedder", "Near", "VectorCoverage", "VectorIndex"]
