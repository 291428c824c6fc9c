"""A document that is rewritten as a whole: a message of it can go, and the rest is still read as what it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.config import Config
from recollect.erasure.cuts import compact
from recollect.memory import Memory
from recollect.model.events import Event
from tests.erasure.cuts.conftest import DAY
from tests.erasure.cuts.lines import cut

UID = "amp:T-1"


class Thread:
    """A thread of Amp: one JSON document with its messages."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "amp" / "threads" / "T-1.json"
        self.path.parent.mkdir(parents=True)
        env = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "RECOLLECT_BACKGROUND": "0"}
        self.messages = [
            {"role": "user", "messageId": 2 * n, "content": [{"type": "text", "text": f"question {n} " + "words " * n}]}
            for n in range(6)
        ]
        self.write()
        self.memory = Memory.open(folder / "memory", config=Config(), env=env)
        self.memory.sync()

    def write(self) -> None:
        document = {"v": 3, "id": "T-1", "created": 1_790_000_000_000, "messages": self.messages, "title": "a thread"}
        self.path.write_text(json.dumps(document, indent=1), "utf-8")

    def events(self) -> list[Event]:
        return list(self.memory.reader().events(UID, limit=None))

    def cut(self, *ranges: tuple[int, int]) -> None:
        (row,) = self.memory.reader().sources()
        with self.memory.writing() as (_, writer, _, archive, _keys):
            cut(archive, writer, row.source_id, row.revision, ranges, reason="forgotten", at=DAY)
            compact(archive, writer)


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[Thread]:
    thread = Thread(tmp_path)
    yield thread
    thread.memory.close()


def test_a_message_goes_with_all_its_bytes_and_nothing_that_holds_the_document_together(thread: Thread) -> None:
    whole = thread.path.read_bytes()
    two, three = [
        e.location for e in thread.events() if "question 2" in str(e.payload) or "question 3" in str(e.payload)
    ]
    start, stop = two.offset_bytes + 3, three.offset_bytes + 5
    ends = [(at.offset_bytes, at.offset_bytes + at.length_bytes) for at in (two, three)]
    two_and_three = b"".join(whole[a:b] for a, b in ends)
    thread.cut((start, stop))
    left = b"".join(thread.memory.maintenance.export_bytes(UID, format="raw"))
    assert b"question 2" not in left
    assert b"question 3" not in left
    assert len(whole) - len(left) == two.length_bytes + three.length_bytes
    assert [f"question {n}".encode() in left for n in range(6)] == [True, True, False, False, True, True]
    assert left.count(b",") == whole.count(b",") - two_and_three.count(b",")
    report = thread.memory.maintenance.verify()
    assert report.ok, report.defects
    assert report.forgotten_bytes == two.length_bytes + three.length_bytes


def test_an_unchanged_document_is_not_read_again_and_a_rebuild_tells_the_same(thread: Thread) -> None:
    place = next(e.location for e in thread.events() if "question 2" in str(e.payload))
    thread.cut((place.offset_bytes, place.offset_bytes + place.length_bytes))
    before = thread.events()
    assert thread.memory.sync().events == 0
    thread.memory.maintenance.rebuild("all")
    assert thread.events() == before
    assert [row.revision for row in thread.memory.reader().sources()] == [1]
    assert thread.memory.maintenance.verify().ok


def test_a_document_that_is_gone_as_a_whole_is_proved_and_a_rewrite_begins_anew(thread: Thread) -> None:
    thread.cut((0, 1 << 40))
    assert thread.memory.maintenance.verify().ok
    assert b"".join(thread.memory.maintenance.export_bytes(UID, format="raw")) == b""
    thread.memory.maintenance.rebuild("all")
    assert thread.memory.maintenance.verify().ok
    thread.messages.append({"role": "user", "messageId": 99, "content": [{"type": "text", "text": "one more"}]})
    thread.write()
    assert thread.memory.sync().events == 1
    assert [row.revision for row in thread.memory.reader().sources()] == [2]
    assert thread.memory.maintenance.verify().ok
