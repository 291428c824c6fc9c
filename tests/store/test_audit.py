"""The audit: what was done, newest first, and never content."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import BrokenInvariant
from recollect.store.audit import add_audit, read_audit
from recollect.store.writer import Writer, open_writer


def test_what_was_done_is_read_newest_first(tmp_path: Path) -> None:
    open_writer(tmp_path).close()
    add_audit(tmp_path, "reveal", {"events": 2}, at=10)
    add_audit(tmp_path, "evict", {"sessions": 3}, at=30)
    add_audit(tmp_path, "reveal", {"events": 1}, at=20)
    assert [(e.at, e.action, e.value) for e in read_audit(tmp_path)] == [
        (30, "evict", {"sessions": 3}),
        (20, "reveal", {"events": 1}),
        (10, "reveal", {"events": 2}),
    ]
    assert [e.at for e in read_audit(tmp_path, actions=["reveal"])] == [20, 10]
    assert [e.at for e in read_audit(tmp_path, limit=1)] == [30]


def test_an_entry_of_a_transaction_is_kept_with_it_or_not_at_all(tmp_path: Path) -> None:
    with open_writer(tmp_path) as writer:
        with pytest.raises(BrokenInvariant), writer.transaction():
            add_both(writer)
        with writer.transaction():
            writer.removing.evicting.audit("data_loss", {"bytes": 2}, at=1)
    assert [e.value for e in read_audit(tmp_path)] == [{"bytes": 2}]


def add_both(writer: Writer) -> None:
    writer.removing.evicting.audit("data_loss", {"bytes": 1}, at=1)
    writer.removing.evicting.audit("data_loss", {"text": "x" * 70_000}, at=1)


def test_two_entries_of_one_moment_are_two(tmp_path: Path) -> None:
    open_writer(tmp_path).close()
    for _ in range(2):
        add_audit(tmp_path, "rotate", {}, at=5)
    assert len(read_audit(tmp_path)) == 2


def test_an_unknown_action_or_a_whole_text_is_refused(tmp_path: Path) -> None:
    open_writer(tmp_path).close()
    with pytest.raises(BrokenInvariant):
        add_audit(tmp_path, "looked", {}, at=1)  # type: ignore[arg-type]
    with pytest.raises(BrokenInvariant):
        add_audit(tmp_path, "reveal", {"text": "x" * 70_000}, at=1)
    assert read_audit(tmp_path) == []
