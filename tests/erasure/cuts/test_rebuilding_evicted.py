"""Evicted sessions are taken over into a rebuilt memory, with their seqs, their skeletons and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recollect.memory import Memory
from tests.erasure.retention.conftest import WORDS, Work


def told(memory: Memory) -> dict[str, Any]:
    """Return everything that the memory tells of its sessions."""
    distilled = memory.distilled()
    return {
        s.session_uid: (
            (s.title, s.event_count, s.turn_count, s.kind_counts, s.started_at, s.ended_at, s.evicted_at, s.outcome),
            list(memory.reader().events(s.session_uid, limit=None, include_hidden=True)),
            distilled.digest(s.session_uid),
        )
        for s in memory.sessions(sync=False).sessions
    }


@pytest.mark.parametrize("spared", [0, 1])
def test_a_rebuild_tells_the_same_of_evicted_sessions(tmp_path: Path, spared: int) -> None:
    work = Work(tmp_path)
    sessions = work.write(3, large=[1])
    with work.open() as memory:
        memory.sync()
        for session in sessions[:spared]:
            memory.maintenance.retention.pin(session.uid)
    with work.open(raw_soft_cap_bytes=0) as memory:
        memory.maintenance.retention.evict()
        assert sum(s.evicted_at is not None for s in memory.sessions(sync=False).sessions) == 3 - spared
        sessions[2].user("And one more thing about the badger.")
        memory.sync()
        before = told(memory)
        counted = [(x.path, x.events, x.unknown, x.replays, x.defects) for x in memory.maintenance.verify().ledgers]
        usage = memory.usage.report(by="session")
        found = [len(memory.search(f"{word} rows batched", sync=False).hits) for word in WORDS[:3]]
        memory.maintenance.rebuild("all")
        after = told(memory)
        assert after.keys() == before.keys()
        for uid, one in before.items():
            assert after[uid] == one
        assert memory.usage.report(by="session") == usage
        assert [len(memory.search(f"{word} rows batched", sync=False).hits) for word in WORDS[:3]] == found
        report = memory.maintenance.verify()
        assert report.ok, report.defects[:3]
        assert report.evicted_bytes > 0
        assert [(x.path, x.events, x.unknown, x.replays, x.defects) for x in report.ledgers] == counted
        assert memory.sync().events == 0
