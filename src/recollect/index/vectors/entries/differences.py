"""What of entries has no vectors, or old ones: told by comparing marks, for their log of changes is the index's. Brings
numpy.

A run that was killed, a database that was put back, a content that came and went: what counts is what is there now.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recollect.index.vectors.rows import Int64, Rows
from recollect.store.entries import EntryFeed
from recollect.store.keys import ENTRY_BASE


class Differences(NamedTuple):
    """missing: (number, mark) of entries without rows of what they say now, by number. gone: numbers of entries that
    have rows and are not stored any more, without ENTRY_BASE. same: how many entries have the rows that they should."""

    missing: Int64
    gone: Int64
    same: int


def differences(rows: Rows | None, feed: EntryFeed) -> Differences:
    """Compare what is kept with what is stored. Some 30 bytes of memory an entry. Raises StoreError."""
    empty = np.empty(0, np.int64)
    numbers, marks = rows.marks_by_session() if rows is not None else (empty, empty)
    numbers = numbers - ENTRY_BASE
    is_there = np.zeros(len(numbers), np.bool_)
    missing: list[Int64] = []
    same = after = 0
    while batch := feed.marks(after=after):
        stored = np.array(batch, np.int64)
        after = batch[-1][0]
        at = np.searchsorted(numbers, stored[:, 0])
        known = np.flatnonzero(at < len(numbers))
        known = known[numbers[at[known]] == stored[known, 0]]
        is_there[at[known]] = True
        is_same = np.zeros(len(stored), np.bool_)
        is_same[known] = marks[at[known]] == stored[known, 1]
        same += int(is_same.sum())
        missing.append(stored[~is_same])
    return Differences(np.concatenate((np.empty((0, 2), np.int64), *missing)), numbers[~is_there], same)
