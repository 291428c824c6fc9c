"""A sweep that is cut short anywhere leaves nothing half gone, and the next one goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from recollect.erasure import retention as sweeping
from recollect.memory import Memory
from tests.erasure.retention.conftest import Work


class Killed(BaseException):
    """Stands for the end of the process: nothing of ours handles it."""


def kill_at(monkeypatch: pytest.MonkeyPatch, name: str, *, after: int) -> None:
    """Have a step of the sweep end the process, the so-manieth time it is reached."""
    real: Callable[..., Any] = getattr(sweeping, name)
    reached = 0

    def step(*args: Any, **kwargs: Any) -> Any:
        nonlocal reached
        reached += 1
        if reached > after:
            raise Killed
        return real(*args, **kwargs)

    monkeypatch.setattr(sweeping, name, step)


@pytest.mark.parametrize("name", ["make_promised", "skeleton_of", "compact"])
@pytest.mark.parametrize("after", [0, 1])
def test_what_was_promised_is_made_when_the_memory_is_next_written(
    work: Work, monkeypatch: pytest.MonkeyPatch, name: str, after: int
) -> None:
    sessions = work.write(3)
    with work.open() as memory:
        memory.sync()
        digests = {s.uid: memory.digest(s.uid) for s in sessions}
    with monkeypatch.context() as patched, work.open(raw_soft_cap_bytes=0) as memory:
        kill_at(patched, name, after=after)
        if name == "compact" and after:
            memory.maintenance.retention.evict()
        else:
            with pytest.raises(Killed):
                memory.maintenance.retention.evict()
    with work.open(raw_soft_cap_bytes=0) as memory:
        assert memory.maintenance.verify().ok
        memory.maintenance.retention.evict()
        page = memory.sessions(limit=10, sync=False).sessions
        assert all(session.evicted_at is not None for session in page)
        verified = memory.maintenance.verify()
        assert verified.ok
        assert memory.maintenance.retention.storage().raw_bytes == 0
        assert {s.uid: memory.digest(s.uid) for s in sessions} == digests
        assert memory.sync().events == 0


def test_a_sweep_that_is_stopped_goes_on_next_time(work: Work) -> None:
    work.write(3)
    with work.open() as memory:
        memory.sync()
    with work.open(raw_soft_cap_bytes=0) as memory:
        asked = iter([False, True])
        report = memory.maintenance.retention.evict(should_stop=lambda: next(asked, True))
        assert (report.state, len(report.sessions)) == ("interrupted", 1)
        assert memory.maintenance.verify().ok
        assert len(memory.maintenance.retention.evict().sessions) == 2


def test_two_never_sweep_at_once(work: Work) -> None:
    work.write(1)
    with work.open(raw_soft_cap_bytes=0) as one, Memory.open(work.home, config=one.config, env=work.env) as other:
        one.refresh()
        with one.writing():
            assert other.maintenance.retention.evict().state == "busy"
