"""Sessions of our own: told by who began them and where, also when that comes later than their first events."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.model.own import INTERNAL_ORIGINATOR
from recollect.model.sessions import SessionPatch
from recollect.store.reader import Reader
from recollect.store.session_rows import SessionFacts, is_internal
from recollect.store.writer import Writer
from tests.store.slices import Line, Source, make_slices, write_all


def hidden(reader: Reader) -> list[bool]:
    return [event.is_hidden for event in reader.events_for_index()]


@pytest.mark.parametrize(
    ("patch", "is_ours"),
    [
        ({"cwd": "/data/recollect"}, True),
        ({"cwd_first": "/data/recollect/work/x", "cwd": "/elsewhere"}, True),
        ({"cwd_first": "/elsewhere", "cwd": "/data/recollect"}, False),
        ({"cwd": "/data/recollect-notes"}, False),
        ({"cwd": "/data"}, False),
        ({}, False),
        ({"originator": INTERNAL_ORIGINATOR, "cwd": "/elsewhere"}, True),
        ({"originator": "codex-tui"}, False),
    ],
)
def test_a_session_is_ours_by_who_began_it_and_where(patch: dict[str, str], is_ours: bool) -> None:
    assert is_internal(SessionFacts(), SessionPatch(**patch), ("/data/recollect",)) is is_ours


def test_folders_of_windows_are_compared_without_case_and_kind_of_slash() -> None:
    patch = SessionPatch(cwd="c:/Users/Dev/AppData/Recollect/run")
    assert is_internal(SessionFacts(), patch, ("C:\\users\\dev\\AppData\\recollect",))


def test_what_was_indexed_of_a_session_leaves_the_index_once_it_is_known_to_be_ours(
    writer: Writer, reader: Reader, home: Path
) -> None:
    first = Source("a")
    write_all(writer, make_slices([Line("one", "1"), Line("two", "2")], first))
    assert hidden(reader) == [False, False]
    second = Source("b", patch={"cwd": str(home / "run")})
    (outcome,) = write_all(writer, make_slices([Line("three", "3")], second))
    assert len(outcome.stale_keys) == 2
    assert outcome.docs == []
    assert hidden(reader) == [True, True, True]
    assert [event.seq for event in reader.events("claude:one")] == [0, 1, 2]
    changed = {c.first_seq for c in reader.changes_after("index")}
    assert changed == {0, 2}
