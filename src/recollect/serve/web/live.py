"""Tells open pages about changes with server-sent events that a browser resumes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from recollect.errors import RecollectError

if TYPE_CHECKING:
    from starlette.requests import Request

    from recollect.memory import Memory

STEP_S = 0.2
LOOK_STEPS = 5
BEAT_STEPS = 75
"""A comment after so many steps shows whether the browser is still there."""
AGAIN_MS = 2_000
"""After which a browser whose stream broke asks again."""


class LiveStreams:
    """The streams of one server. is_ending: tells whether it is about to end; the streams then end too."""

    def __init__(self, memory: Memory, is_ending: Callable[[], bool]) -> None:
        self._memory = memory
        self._is_ending = is_ending

    def answer(self, request: Request) -> StreamingResponse:
        """Return a stream with a line at once and one for every change, until the browser goes."""
        return StreamingResponse(self._lines(request), media_type="text/event-stream")

    async def _lines(self, request: Request) -> AsyncIterator[str]:
        mark = await run_in_threadpool(self._mark)
        yield f"retry: {AGAIN_MS}\ndata: {mark}\n\n"
        for step in count(1):
            await asyncio.sleep(STEP_S)
            if self._is_ending() or await request.is_disconnected():
                return
            if step % LOOK_STEPS == 0:
                before, mark = mark, await run_in_threadpool(self._mark) or mark
                if mark != before:
                    yield f"data: {mark}\n\n"
            if step % BEAT_STEPS == 0:
                yield ": still here\n\n"

    def _mark(self) -> str:
        """Return the memory's change mark, "" where it cannot be read now. What has changed is ingested first: where
        no daemon is at work nobody else does."""
        try:
            self._memory.refresh()
            return self._memory.browse.change_mark()
        except RecollectError:
            return ""
