"""So many calls at once, so many waiting, and not for ever; a thread that does not end keeps its place."""

from __future__ import annotations

import threading
from collections.abc import Callable

import anyio
import pytest

from recollect.serve.mcp.server import Admission, Busy, DeadlineExceeded


def test_what_is_too_much_is_refused_at_once_and_taken_again_later() -> None:
    async def body() -> None:
        admission = Admission(parallel=1, queued=1)
        gate = threading.Event()
        answers: list[str] = []

        def wait() -> str:
            gate.wait(60)
            return "done"

        async def one() -> None:
            answers.append(await admission.run(wait))

        async with anyio.create_task_group() as group:
            group.start_soon(one)
            group.start_soon(one)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(Busy):
                await admission.run(wait)
            gate.set()
        assert answers == ["done", "done"]
        assert await admission.run(wait) == "done"
        admission.close()

    anyio.run(body)


def test_a_late_call_is_an_error_and_its_place_is_free_when_it_has_ended() -> None:
    async def body() -> None:
        admission = Admission(parallel=1, queued=0, deadline_s=0.01)
        gate, ended = threading.Event(), threading.Event()

        def slow() -> str:
            gate.wait(60)
            ended.set()
            return "too late"

        with pytest.raises(DeadlineExceeded):
            await admission.run(slow)
        with pytest.raises(Busy):
            await admission.run(slow)
        gate.set()
        await anyio.to_thread.run_sync(ended.wait)
        while True:
            try:
                assert await admission.run(lambda: "free") == "free"
                break
            except (Busy, DeadlineExceeded):
                await anyio.sleep(0)
        admission.close()

    anyio.run(body)


def test_a_cancelled_call_that_waits_is_never_run() -> None:
    async def body() -> None:
        admission = Admission(parallel=1, queued=5)
        gate = threading.Event()
        ran: list[int] = []

        def call(number: int) -> Callable[[], str]:
            def run() -> str:
                gate.wait(60)
                ran.append(number)
                return ""

            return run

        async with anyio.create_task_group() as group:
            group.start_soon(admission.run, call(1))
            await anyio.wait_all_tasks_blocked()
            with anyio.move_on_after(0):
                await admission.run(call(2))
            gate.set()
        await admission.run(call(3))
        assert ran == [1, 3]
        admission.close()

    anyio.run(body)


def test_what_a_call_raises_is_raised() -> None:
    async def body() -> None:
        admission = Admission()

        def fails() -> str:
            raise TimeoutError("its own")

        with pytest.raises(TimeoutError, match="its own"):
            await admission.run(fails)
        admission.close()

    anyio.run(body)
