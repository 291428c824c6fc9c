"""Shows progress on stderr: a bar or line on a terminal, else one line per stage or nothing."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from recollect.cli.terminal import error_console, safe_line
from recollect.units import plural, size

if TYPE_CHECKING:
    from rich.progress import Progress

    from recollect.memory import SyncProgress

_STAGES = {
    "discover": "looking for sessions", "survey": "looking over", "redact": "looking for secrets again",
    "ingest": "ingesting", "index": "indexing", "distill": "searchable now; analysing",
    "learn": "searchable now; learning", "done": "done",
}  # fmt: skip

_DOING = {"copy": "copying", "check": "reading again"}
_COUNTED = {"comparing sessions": "session", "analysing again": "session"}
"""What a stage counts, where not bytes."""


class StageLine:
    """What a command is at, to use in a `with`: one line on stderr that is written over; nothing without a terminal."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._is_shown = False

    def __enter__(self) -> StageLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")

    def show(self, text: str) -> None:
        """Show what it is at now."""
        if self._is_terminal:
            self._is_shown = True
            sys.stderr.write("\r\x1b[K" + safe_line(text)[:100])
            sys.stderr.flush()


class ProgressLine:
    """Progress callbacks to use in a `with`: a bar on a terminal, a line per stage otherwise.

    The bar appears with the first bytes, so that work on nothing draws nothing. Call the object itself with a
    sync's progress; `bytes_done` suits work that has one stage.
    """

    def __init__(self, work: str = "", *, counted: str = "") -> None:
        """work: what `bytes_done` and `items_done` are about. counted: what it counts, where not bytes (`event`)."""
        self._work = work
        self._counted = counted
        self._told = ""
        self._bar: Progress | None = None
        self._bar_counts = ""
        self._is_terminal = sys.stderr.isatty()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, at: SyncProgress) -> None:
        """Show how far a sync is."""
        doing = f"{_STAGES[at.stage]} {at.current}".rstrip()
        if at.stage == "ingest" and not self._is_terminal:
            doing = f"{_STAGES[at.stage]} {plural(at.total_sources, 'source')}"
        if at.stage in ("distill", "learn"):
            self._show(at.stage, doing, at.done_sources, at.total_sources, counted="session")
        else:
            self._show(at.stage, doing, at.done_bytes, at.total_bytes)

    def told(self, line: bytes) -> None:
        """Show how far a sync is, as the daemon tells."""
        import msgspec

        from recollect.memory import SyncProgress

        with suppress(ValueError):  # a daemon that tells something else
            self(msgspec.json.decode(line, type=SyncProgress))

    def stage_done(self, doing: str, done: int, total: int) -> None:
        """Show how far work of several stages is; `doing` names the stage."""
        self._show(doing, _DOING.get(doing, doing), done, total, counted=_COUNTED.get(doing, ""))

    def bytes_done(self, done: int, total: int) -> None:
        """Show how far work of one stage is, in bytes."""
        self._show(self._work, self._work, done, total)

    def items_done(self, done: int, total: int) -> None:
        """Show how far work of one stage is, in what is counted."""
        self._show(self._work, self._work, done, total)

    def _show(self, stage: str, doing: str, done: int, total: int, *, counted: str = "") -> None:
        if not total:
            return
        counted = counted or self._counted
        if self._is_terminal:
            if self._bar is not None and self._bar_counts != counted:
                self._bar.stop()
                self._bar = None
            if self._bar is None:
                self._bar_counts = counted
                self._bar = _bar(in_bytes=not counted)
                self._bar.add_task("", total=total)
                self._bar.start()
            self._bar.update(self._bar.task_ids[0], completed=done, total=total, description=safe_line(doing)[:40])
        elif stage not in (self._told, "done"):
            amount = plural(total, counted) if counted else size(total)
            sys.stderr.write(f"{safe_line(doing)} ({amount})\n")
        self._told = stage


def _bar(*, in_bytes: bool) -> Progress:
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *((DownloadColumn(), TransferSpeedColumn()) if in_bytes else (MofNCompleteColumn(),)),
        TimeRemainingColumn(),
        console=error_console(),
        transient=True,
    )
