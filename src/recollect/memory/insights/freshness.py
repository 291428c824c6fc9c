"""Before a question about what sessions mean: take in what changed, and analyse what waits, within a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from recollect.config import Config
from recollect.errors import ArchiveError
from recollect.store.reader import Reader
from recollect.store.rows import EventFilter

if TYPE_CHECKING:
    from recollect.memory.insights.distilling import DistillingFacet

MAX_SECONDS = 20.0
"""How long a question may wait for analyses; the rest is said in a note."""
MAX_UNDER_WAY = 20
"""Sessions under way that are analysed for one question, the newest."""


Telling = Callable[[str], None]
"""Told what is being done now, in words for a person who waits."""


class OpenMemory(Protocol):
    """What is needed of an open memory."""

    config: Config

    def reader(self) -> Reader: ...
    def refresh(self) -> tuple[str, ...]: ...
    @property
    def distilling(self) -> DistillingFacet: ...


def freshen(
    memory: OpenMemory, *, with_under_way: bool = False, repos: tuple[str, ...] = (), tell: Telling = lambda _: None
) -> tuple[str, ...]:
    """Take in and analyse what is due; return notes on what could not be done.

    with_under_way: the newest sessions (of repos) that nobody has ended are analysed too, as far as they have come.
    Raises ConfigError for a rule that cannot be used, StoreError.
    """
    tell("ingesting what changed")
    notes = memory.refresh()
    if not memory.config.distill.enabled:
        return (*notes, "analysing is off (`[distill] enabled`): this is what was found before")
    try:
        return _analysed(memory, notes, with_under_way=with_under_way, repos=repos, tell=tell)
    except ArchiveError as error:  # what was analysed before needs no archive, and no key
        return (*notes, f"not analysed: {error}")


def _analysed(
    memory: OpenMemory, notes: tuple[str, ...], *, with_under_way: bool, repos: tuple[str, ...], tell: Telling
) -> tuple[str, ...]:
    def show(done: int, total: int) -> None:
        tell(f"analysing sessions, {done:,} of {total:,}")

    report = memory.distilling.run(max_seconds=MAX_SECONDS, progress=show)
    notes = (*notes, *report.notes)
    if report.state == "done" and with_under_way:
        page, _total = memory.reader().sessions(EventFilter(repos=repos), limit=MAX_UNDER_WAY)
        stale = [s.session_uid for s in page if s.analyzed_at is None or (s.ingested_at or 0) > s.analyzed_at]
        if stale:
            report = memory.distilling.run(sessions=stale, max_seconds=MAX_SECONDS, progress=show)
            notes = (*notes, *report.notes)
    if report.state == "interrupted":
        return (*notes, "not every session is analysed yet: `recollect sync` goes on")
    return notes
