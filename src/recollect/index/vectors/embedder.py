"""What makes vectors of texts, whatever stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Makes vectors. Two of the same `name` and `version` give comparable vectors, others never do.

    name: a short word for people, also the beginning of the folder's name. version: whatever tells its content (a hash
    of the weights, the address and name of a served model). dimensions: length of every vector.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimensions), each row of unit length.

        A text that means nothing to it (empty, or only unknown signs) is a row of zeros. Safe from many threads.
        Raises:
            EmbeddingUnavailable: the model cannot be read or reached, or answered something unusable.
        """
        ...

    def close(self) -> None:
        """Let go of what is held open (connections). Embedding again opens it again."""
        ...
