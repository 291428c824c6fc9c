"""The order in which a source tells a session, kept beside the numbers that its events were given."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.payloads import KINDS
from recollect.store.event_order import Arrangement, arranged, joined, taken_back
from recollect.store.migrations import MIGRATIONS
from recollect.store.row_keys import FLAG_GONE, FLAG_SHIFT, SEQ_BITS

SESSION, SOURCE, OTHER = 3, 7, 8
BASE = SESSION << SEQ_BITS
SEQS = st.lists(st.integers(0, 40), unique=True)


@pytest.fixture
def db() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    for statement in (*MIGRATIONS[7], "CREATE TABLE event (key INTEGER PRIMARY KEY, bits INTEGER, source INTEGER)"):
        connection.execute(statement)
    yield connection
    connection.close()


def take(db: apsw.Connection, *seqs: int, first_new: int, source: int = SOURCE) -> list[int]:
    """Have a source tell a session in an order; return what is stored of it."""
    Arrangement(db, SESSION, source).take([BASE + seq for seq in seqs], BASE + first_new)
    return arranged(db, SESSION)[source]


@given(before=SEQS, piece=SEQS)
def test_the_newest_order_is_kept_and_what_it_lacks_stays_behind_what_it_followed(
    before: list[int], piece: list[int]
) -> None:
    found = joined(before, piece)
    assert sorted(found) == sorted({*before, *piece})
    assert [seq for seq in found if seq in piece] == piece
    for last, seq in pairwise(before):
        if seq not in piece:
            assert found[found.index(seq) - 1] == last


@given(seqs=st.lists(st.integers(0, (1 << SEQ_BITS) - 1), unique=True, max_size=50))
def test_any_order_is_given_back_as_it_was_stored(seqs: list[int]) -> None:
    connection = apsw.Connection(":memory:")
    for statement in (*MIGRATIONS[7], "CREATE TABLE event (key INTEGER PRIMARY KEY, bits INTEGER, source INTEGER)"):
        connection.execute(statement)
    assert take(connection, *seqs, first_new=0) == seqs


def test_what_the_source_told_before_it_had_an_order_is_joined_and_what_others_told_is_not(
    db: apsw.Connection,
) -> None:
    """So a home that was written before orders were kept goes on."""
    rows = [(BASE + 0, SOURCE), (BASE + 1, OTHER), (BASE + 2, SOURCE), (BASE + 5, SOURCE)]
    db.executemany("INSERT INTO event VALUES (?, 0, ?)", rows)
    assert take(db, 5, 2, first_new=5) == [0, 5, 2]


def test_an_order_that_is_stored_is_what_the_next_one_joins(db: apsw.Connection) -> None:
    take(db, 2, 0, 1, first_new=3)
    assert take(db, 0, 3, first_new=3) == [2, 0, 1, 3]
    assert take(db, 4, first_new=4, source=OTHER) == [4]
    assert arranged(db, SESSION).keys() == {SOURCE, OTHER}


def test_a_rewind_is_taken_back_when_what_it_left_is_told_again_and_comes_back_with_it(db: apsw.Connection) -> None:
    rewind = KINDS.index("rewind")
    db.executemany("INSERT INTO event VALUES (?, ?, 7)", [(BASE, 0), (BASE + 1, rewind), (BASE + 2, 0)])
    assert list(taken_back(db, BASE, [0, 1, 2], [BASE, BASE + 2])) == [(BASE + 1, False)]
    assert list(taken_back(db, BASE, [0, 1, 2], [BASE + 2])) == []
    db.execute("UPDATE event SET bits = ? WHERE key = ?", (rewind | FLAG_GONE << FLAG_SHIFT, BASE + 1))
    assert list(taken_back(db, BASE, [0, 1, 2], [BASE, BASE + 1, BASE + 2])) == [(BASE + 1, True)]
