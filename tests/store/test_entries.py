"""Entries are written with the row that they tell of, once, and keep their number; a reader gives them back whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recollect.errors import BrokenInvariant
from recollect.model.learnings.entries import ENTRY_PART_CHARS, EntryDraft
from recollect.store.connection import open_database
from recollect.store.entries import put_entries, remove_entries
from recollect.store.reader import Reader
from recollect.store.row_keys import ENTRY_BASE
from recollect.store.rows import EventFilter
from tests.ingest.entries.noted import draft, put, remove


def numbers(reader: Reader, **where: Any) -> set[str]:
    keys = reader.session_keys(reader.session_numbers(EventFilter(**where)))
    return {key.session_uid for key in keys.values()}


def test_an_entry_is_given_back_as_it_was_written(home: Path, reader: Reader) -> None:
    told = draft(
        "document:docs/a#b.md", "Erster Teil: Größe 日本", "second", headings=("One", "One > Two"), title="Title",
        repo="shop", path="docs/a#b.md", session_uid="claude:x", ts=17, status="derived", state="active", agent="codex",
    )  # fmt: skip
    assert put(home, told) == 1
    found = reader.entries.entry("document:docs/a#b.md")
    assert found is not None
    entry, parts = found
    assert EntryDraft(
        uid=entry.uid, kind=entry.kind, title=entry.title, texts=tuple(p.text for p in parts),
        headings=tuple(p.heading for p in parts), agent=entry.agent, repo=entry.repo, path=entry.path,
        session_uid=entry.session_uid, ts=entry.ts, status=entry.status, state=entry.state,
    ) == told  # fmt: skip
    assert reader.entries.entry("document:docs/a") == found
    assert reader.entries.entry("document:docs/b") is None
    assert reader.entries.counts() == {"document": 1}


def test_what_is_as_before_writes_nothing_and_what_changed_keeps_its_number(home: Path, reader: Reader) -> None:
    one = draft("learning:a", "one", "two")
    assert put(home, one, one) == 1
    before = reader.entries.changes()
    assert put(home, one) == 0
    assert reader.entries.changes() == before
    assert put(home, draft("learning:a", "one")) == 1
    assert len({change.number for change in reader.entries.changes()}) == 1
    found = reader.entries.entry("learning:a")
    assert found is not None
    assert [part.text for part in found.parts] == ["one"]


def test_a_number_is_never_used_again(home: Path, reader: Reader) -> None:
    put(home, draft("learning:a", "one"))
    assert remove(home, "learning:a", "learning:a") == 1
    put(home, draft("learning:b", "two"))
    written, gone, new = (change.number for change in reader.entries.changes())
    assert written == gone != new


@pytest.mark.parametrize(
    "bad",
    [
        draft("learning:a", "x" * (ENTRY_PART_CHARS + 1)),
        EntryDraft(uid="fact:a", kind="learning", title="", texts=("x",)),
        EntryDraft(uid="fact:a", kind="fact", title="", texts=()),
        draft("fact:a", "x", headings=("a", "b")),
    ],
)
def test_what_is_no_entry_is_refused_and_leaves_nothing(home: Path, reader: Reader, bad: EntryDraft) -> None:
    with pytest.raises(BrokenInvariant):
        put(home, draft("learning:good", "fine"), bad)
    assert reader.entries.counts() == {}


def test_entries_are_written_in_a_transaction_of_their_row_only(home: Path, reader: Reader) -> None:
    db = open_database(home, "write")
    try:
        with pytest.raises(BrokenInvariant):
            put_entries(db, [draft("learning:a", "x")])
        with pytest.raises(BrokenInvariant):
            remove_entries(db, ["learning:a"])
        with pytest.raises(ZeroDivisionError), db:
            assert put_entries(db, [draft("learning:a", "x")]) / 0
    finally:
        db.close()
    assert reader.entries.counts() == {}
    assert not reader.entries.has_changes()


def test_filters_over_sessions_hold_for_entries_as_far_as_they_can(home: Path, reader: Reader) -> None:
    put(
        home,
        draft("learning:every", "x", agent="claude"),
        draft("learning:shop", "x", repo="shop-api", agent="codex"),
        draft("document:docs/a.md", "x", repo="shop-api"),
        draft("document:notes/b.md", "x"),
    )
    assert numbers(reader, repos=("SHOP",)) == {"learning:every", "learning:shop", "document:docs/a.md"}
    assert numbers(reader, repos=("=shop",)) == {"learning:every"}
    assert numbers(reader, agents=("codex",)) == {"learning:shop"}
    assert numbers(reader, sessions=("document:docs/",)) == {"document:docs/a.md"}
    assert numbers(reader, sessions=("learning:shop",)) == {"learning:shop"}
    assert numbers(reader, sessions=("learn",)) == set()
    assert numbers(reader, branches=("main",)) == set()
    assert numbers(reader, is_subagent=True) == set()
    assert len(numbers(reader, is_subagent=False)) == 4
    db = open_database(home, "write")
    with db:
        db.execute("INSERT INTO tag VALUES ('release', 'learning:shop', 1)")
    db.close()
    assert numbers(reader, tags=("release", "other")) == {"learning:shop"}


def test_texts_and_keys_leave_out_what_is_not_there(home: Path, reader: Reader) -> None:
    put(home, draft("learning:a", "first", "second", title="T", state="retired", status="hypothesis"))
    number = reader.entries.changes()[0].number
    key = (ENTRY_BASE + number) << 24
    texts = reader.hit_texts().texts([key, key + 1, key + 2, key + (1 << 24), 5])
    assert [(t.session_uid, t.seq, t.text, t.state, t.status) for t in texts.values()] == [
        ("learning:a", 0, "T\nfirst", "retired", "hypothesis"),
        ("learning:a", 1, "second", "retired", "hypothesis"),
    ]
    assert list(reader.session_keys([ENTRY_BASE + number, ENTRY_BASE + number + 1, 1])) == [ENTRY_BASE + number]
