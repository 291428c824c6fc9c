"""What computes in the daemon gives way to questions, and is not held up for ever by them."""

from __future__ import annotations

import threading
import time

import pytest

from recollect.ingest.keeper import idle_work
from recollect.ingest.keeper.idle_work import IdleWork, Questions
from tests.ingest.conftest import World


def test_work_waits_while_a_question_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_work, "QUIET_S", 0.001)
    monkeypatch.setattr(idle_work, "MOST_S", 600.0)
    asked = Questions()
    work = threading.Thread(target=asked.give_way, daemon=True)
    with asked.answering():
        work.start()
        work.join(0.05)
        assert work.is_alive()
    work.join(60)
    assert not work.is_alive()


def test_questions_that_never_end_hold_one_step_up_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_work, "MOST_S", 0.01)
    asked = Questions()
    with asked.answering():
        asked.give_way()


def test_vectors_are_made_beside_a_question_that_never_ends(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_work, "EMBED_AFTER_S", 0.0)
    monkeypatch.setattr(idle_work, "MOST_S", 0.01)
    world.claude("one").user("We name tables in the singular, in every schema.")
    world.memory.sync()
    loop = IdleWork(world.memory, now_us=lambda: time.time_ns() // 1000, log=lambda _line: None)
    with loop.questions.answering():
        loop.has_changed()
        loop.work(should_stop=lambda: False)
        loop._threads["embedding"].join()
    assert loop.embedded_texts
