"""Fifty readers while an ingester writes: none waits for it, and none ever sees what is not so."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from tests.faults.support.readers import Expected
from tests.faults.support.trials import Bench, state_of
from tests.faults.support.worlds import QUESTIONS, assert_same, found, opened, prepare_home

pytestmark = pytest.mark.skipif(os.name == "nt", reason="fork is POSIX")
GATES = 3


def test_fifty_readers_are_never_blocked_and_never_wrong(bench: Bench, tmp_path: Path) -> None:
    calm = prepare_home(tmp_path / "calm")
    bench.must(calm, "sync")
    with opened(calm, bench.world.env) as memory:
        uids = [s.session_uid for s in memory.sessions(limit=1000, sync=False).sessions]
        events = {uid: [(e.seq, e.event_id) for e in memory.events(uid)] for uid in uids}
        hits = {query: [(uid, seq) for uid, seq, _ in found(memory, query)] for query in QUESTIONS}
    (tmp_path / "expected.json").write_bytes(msgspec.json.encode(Expected(events, hits)))
    home = prepare_home(tmp_path / "home")
    script = (
        "from tests.faults.support.readers import main\n"
        f"main({str(home)!r}, {str(tmp_path / 'expected.json')!r}, {GATES})\n"
    )
    ended = bench.run(home, (), script=script)
    assert ended.code == 0, ended
    assert "Traceback" not in ended.output, ended
    assert_same(home, bench.world, state_of(calm, bench.world))
