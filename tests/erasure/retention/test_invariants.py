"""Whatever is written, analysed and swept in whatever order: nothing goes before its digest, nothing else is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.ingest.operations import take_changes
from recollect.memory import Memory
from recollect.testing.builders import ClaudeTranscript
from tests.erasure.retention.conftest import WORDS, Work, output

STEPS = st.sampled_from(["append", "sync", "refresh", "evict", "delete", "pin"])


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.tuples(STEPS, st.integers(0, 2)), min_size=4, max_size=12),
    share=st.sampled_from([0.0, 0.3, 0.7]),
    cut=st.booleans(),
)
def test_no_raw_byte_goes_before_the_digest_that_covers_it(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], share: float, cut: bool
) -> None:
    work = Work(tmp_path_factory.mktemp("work"))
    sessions = work.write(3, large=[1] if cut else [])
    with work.open(cadence="weekly") as memory:
        memory.sync()
        raw = memory.maintenance.retention.storage().raw_bytes
    bounds = {"raw_soft_cap_bytes": int(raw * share), "raw_hard_cap_bytes": 1 << 40, "cadence": "weekly"}
    appended = 0
    with work.open(**bounds) as memory:
        for step, number in steps:
            session = sessions[number]
            if step == "append" and session.path.exists():
                appended += 1
                session.user(f"Step {appended}: let's keep the {WORDS[number]} cache instead of dropping it.")
                session.tool("Bash", {"command": "make"}, output(appended, 2_000))
            elif step == "delete":
                session.path.unlink(missing_ok=True)
            elif step == "sync":
                memory.sync()
            elif step == "refresh":
                take_changes(memory, None, should_stop=lambda: False)
            elif step == "pin" and memory.session(session.uid).evicted_at is None:
                memory.maintenance.retention.pin(session.uid)
            elif step == "evict":
                check_sweep(memory, sessions)
        take_changes(memory, None, should_stop=lambda: False)
        verified = memory.maintenance.verify()
        assert verified.ok, verified.defects
        for session, word in zip(sessions, WORDS, strict=False):
            assert session.uid in {hit.session_uid for hit in memory.search(f"{word} importer slow", sync=False).hits}
        check_exports(memory, sessions)


def check_sweep(memory: Memory, sessions: list[ClaudeTranscript]) -> None:
    """Sweep, and see that only what was covered went, and that it means what it meant."""
    waiting = {s.session_uid for s in memory.sessions(sync=False).sessions if not is_covered(memory, s.session_uid)}
    pinned = {pin.session_uid for pin in memory.maintenance.retention.pins()}
    digests = {s.uid: memory.digest(s.uid) for s in sessions}
    nodes = {kept.node.id for kept in memory.nodes()}
    report = memory.maintenance.retention.evict()
    assert not {s.session_uid for s in report.sessions} & (waiting | pinned)
    assert report.data_loss == 0
    assert {s.uid: memory.digest(s.uid) for s in sessions} == digests
    assert {kept.node.id for kept in memory.nodes()} == nodes


def is_covered(memory: Memory, uid: str) -> bool:
    with memory.writing() as (_, writer, _, _archive, _keys):
        return writer.removing.evicting.is_covered(uid)


def check_exports(memory: Memory, sessions: list[ClaudeTranscript]) -> None:
    """What is archived of a session is the end of its file, or, where large results went, all that is between them."""
    for session in sessions:
        if not session.path.exists():
            continue
        content = session.path.read_bytes()
        given_back = b"".join(memory.maintenance.export_bytes(session.uid, format="raw"))
        lines = content.splitlines(keepends=True)
        # A record that goes leaves the line end that stood between it and the next one.
        strange = [line for line in given_back.splitlines(keepends=True) if line not in lines and line != b"\n"]
        assert strange == [], [(len(line), line[:60]) for line in strange]
        if memory.session(session.uid).evicted_at is None and not any(len(line) > 65_536 for line in lines):
            assert Path(session.path).read_bytes() == given_back
