"""Killed anywhere, a forgetting is finished by whoever writes next; and for any selection, everything else stays."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.archive.archive import Archive
from recollect.config import Config
from recollect.erasure import forget as running
from recollect.memory import ForgetSelection, Memory
from recollect.store.erasure.forget_rows import ForgetWriter
from recollect.testing.builders import ClaudeTranscript, CodexRollout
from tests.erasure.forget.nowhere import holding
from tests.ingest.conftest import World

SECRET = "zanzibarquux"
STEPS: dict[str, tuple[Any, str]] = {
    "tombstones are in no file": (Archive, "flush"),
    "tombstones are in the journal": (ForgetWriter, "begin"),
    "the database promises": (running, "make_promised"),
    "bytes are gone": (ForgetWriter, "overwriting"),
    "some rows are gone": (ForgetWriter, "remove_source"),
    "rows are gone": (running, "remake_shards"),
    "the index is made anew": (running, "clear_vectors"),
    "vectors are gone": (running, "compact"),
    "packs are written anew": (ForgetWriter, "rewrite"),
    "the database is written anew": (ForgetWriter, "finish"),
}


def killed(work: Callable[[], object], at: tuple[Any, str]) -> bool:
    """Do work in a process of its own that is killed before a call; tell whether it came to it."""
    owner, name = at
    child = os.fork()
    if not child:
        setattr(owner, name, lambda *_a, **_k: os.kill(os.getpid(), signal.SIGKILL))
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def told(memory: Memory) -> dict[str, Any]:
    """Everything that a memory tells of its sessions, byte for byte."""
    sessions = memory.sessions(limit=100, sync=False).sessions
    return {
        s.session_uid: (
            b"".join(memory.maintenance.export_bytes(s.session_uid, format="raw")),
            b"".join(memory.maintenance.export_bytes(s.session_uid, format="nodes")),
            [repr(event) for event in memory.events(s.session_uid)],
            memory.digest(s.session_uid),
            s.title,
            s.event_count,
        )
        for s in sessions
    }


@pytest.mark.skipif(os.name == "nt", reason="fork and SIGKILL are POSIX")
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_it_is_finished_by_the_next_sync(world: World, step: str) -> None:
    memory = world.memory
    one, other = world.claude("one"), world.claude("two")
    one.user(f"please use {SECRET}, because it is faster")
    one.assistant(f"I decided to use {SECRET} instead of cron.")
    other.user("please use the flux capacitor, because it is faster")
    other.assistant("I decided to use the flux capacitor instead of cron.")
    memory.sync()
    memory.distilling.run(sessions=[one.uid, other.uid])
    memory.embedding.run()
    before = told(memory)[other.uid]
    memory.close()

    def forget() -> None:
        with world.again() as again:
            again.maintenance.forgetting.run(ForgetSelection(session=one.uid))

    assert killed(forget, STEPS[step])
    memory.sync()
    if step == "tombstones are in no file":  # nothing was forgotten
        assert memory.session(one.uid).event_count > 0
        memory.maintenance.forgetting.run(ForgetSelection(session=one.uid))
    assert holding(memory, SECRET) == []
    assert told(memory) == {other.uid: before}
    verified = memory.maintenance.verify()
    assert verified.ok, verified.defects
    assert memory.search("capacitor", sync=False).total > 0


WORDS = ("alpha", "bravo", "charlie", "delta")
SESSIONS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), min_size=1, max_size=4)


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(sessions=SESSIONS, word=st.sampled_from(WORDS), whole=st.sets(st.integers(0, 3)), again=st.booleans())
def test_for_any_selection_all_else_stays_and_the_forgotten_is_nowhere(
    sessions: list[list[str]], word: str, whole: set[int], again: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        env = {"HOME": folder, "CLAUDE_CONFIG_DIR": str(root / "claude"), "CODEX_HOME": str(root / "codex")}
        uids = []
        for i, words in enumerate(sessions):
            if i % 2:
                rollout = CodexRollout(root / "codex", f"s{i}")
                for j, one in enumerate(words):
                    rollout.turn(f"{one}x{i}x{j} was asked", f"answer {i} {j}")
                uids.append(rollout.uid)
            else:
                transcript = ClaudeTranscript(root / "claude", f"s{i}")
                for j, one in enumerate(words):
                    transcript.user(f"{one}x{i}x{j} was asked")
                    transcript.assistant(f"answer {i} {j}")
                uids.append(transcript.uid)
        with Memory.open(root / "memory", config=Config(), env=env) as memory:
            memory.sync()
            memory.distilling.run(sessions=uids)
            before = told(memory)
            gone = [f"{one}x{i}x{j}" for i, words in enumerate(sessions) for j, one in enumerate(words)
                    if one == word or i in whole]  # fmt: skip
            touched = {uids[i] for i, words in enumerate(sessions) if word in words or i in whole}
            memory.maintenance.forgetting.run(ForgetSelection(pattern=f"\\b{word}x"))
            for i in sorted(whole & set(range(len(sessions)))):
                if any(s.session_uid == uids[i] for s in memory.sessions(limit=100, sync=False).sessions):
                    memory.maintenance.forgetting.run(ForgetSelection(session=uids[i]))
            if again:
                memory.sync(force=True)
                memory.distilling.run(sessions=[s.session_uid for s in memory.sessions(sync=False).sessions])
            assert holding(memory, *gone) == []
            after = told(memory)
            assert {uid: after[uid] for uid in uids if uid not in touched} == {
                uid: before[uid] for uid in uids if uid not in touched
            }
            for i, words in enumerate(sessions):
                kept = [f"{one}x{i}x{j}" for j, one in enumerate(words) if one != word and i not in whole]
                text = "".join(after[uids[i]][2]) if uids[i] in after else ""
                assert all(one in text for one in kept)
            verified = memory.maintenance.verify()
            assert verified.ok, verified.defects
