"""Loads the shipped weights: one table per subject, one byte per place.

`python -m benchmarks.distilling.train --write` makes both files: the tables, and what goes with each.
"""

from __future__ import annotations

import hashlib
import tomllib
from functools import cache
from typing import Final, Literal, NamedTuple, get_args

import msgspec

from recollect.insights.scorer.features import PLACES
from recollect.late import shipped

TABLES_FILE: Final = "weights.bin"
ABOUT_FILE: Final = "weights.toml"

Kind = Literal["preference", "correction", "fact"]
Subject = Literal["decision", "learning", "action", "preference", "correction", "fact"]
"""What a sentence can be: a decision; worth keeping, or left to do; and, of what is worth keeping, its kind."""
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


class AboutTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What goes with a table of weights.

    bias: added to the sum of a sentence's weights. levels: from such a sum on, so many in a hundred of the labelled
    sentences were what it is about, out of fold; ascending.
    """

    bias: int
    levels: tuple[tuple[int, int], ...] = ()


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the tables are, in the order of the file. consent: the least sum of "learning" that a sentence needs which a
    rule takes for a preference or correction."""

    sha256: str
    consent: int
    tables: dict[Subject, AboutTable]


class WeightTables(NamedTuple):
    """The tables, of whole numbers of one byte, and their parameters; or none, and why."""

    tables: dict[Subject, memoryview]
    about: About | None = None
    missing: str = ""


@cache
def weights() -> WeightTables:
    """Return the weights that ship; none where a file is missing or is not the one that is known."""
    try:
        about, tables = (shipped("recollect.insights.scorer", name) for name in (ABOUT_FILE, TABLES_FILE))
    except OSError as error:
        return WeightTables({}, missing=f"the weights of the scorer cannot be read: {error.strerror}")
    return checked(about, tables)


def checked(about: bytes, tables: bytes) -> WeightTables:
    """Return the weights in the bytes of both files; none where these don't belong together."""
    try:
        known = msgspec.convert(tomllib.loads(about.decode()), About, strict=False)
    except ValueError:
        return WeightTables({}, missing="the weights of the scorer are damaged")
    if hashlib.sha256(tables).hexdigest() != known.sha256 or len(tables) != PLACES * len(known.tables):
        return WeightTables({}, missing="the weights of the scorer are damaged")
    numbers = memoryview(tables).cast("b")
    apart = (numbers[start : start + PLACES] for start in range(0, len(numbers), PLACES))
    return WeightTables(dict(zip(known.tables, apart, strict=True)), known)
