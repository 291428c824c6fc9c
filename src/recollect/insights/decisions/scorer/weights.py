"""The weights that ship with the program, one byte a place, made by `python -m benchmarks.distilling.train`."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple

from recollect.insights.decisions.scorer.features import PLACES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FILE_NAME: Final = "weights.bin"
SHA256: Final = "a01b2984483bb1bf84db5757c3f1f80310bf81bf469bcdf59122ed2ce2a52e1f"
BIAS: Final = -75
"""Added to the sum of a sentence's weights."""
LEVELS: Final = ((0, 62), (76, 68), (151, 84), (227, 91))
"""From such a sum on, so many in a hundred of the labelled sentences decided something, out of fold. Ascending."""


class Weights(NamedTuple):
    """The table, or why there is none."""

    table: NDArray[np.int8] | None
    missing: str = ""


@cache
def weights() -> Weights:
    """Return the weights that ship; without a table where the file is missing or is not the one that is known."""
    try:
        data = files(__package__).joinpath(FILE_NAME).read_bytes()
    except OSError as error:
        return Weights(None, f"the weights of the scorer cannot be read: {error.strerror}")
    return checked(data)


def checked(data: bytes) -> Weights:
    """Return the weights in the bytes of a file; without a table where they are not those that are known."""
    import numpy as np

    if hashlib.sha256(data).hexdigest() != SHA256 or len(data) != PLACES:
        return Weights(None, "the weights of the scorer are damaged")
    return Weights(np.frombuffer(data, np.int8))


def confidence_of(score: int) -> int:
    """Return the confidence of a sentence in hundredths; 0: it decides nothing."""
    return max((hundredths for least, hundredths in LEVELS if score >= least), default=0)
