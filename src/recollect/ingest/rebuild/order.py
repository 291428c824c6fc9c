"""The order in which several sources of one session were seen, so that what is derived anew comes in that order.

A session's events have numbers in the order in which they came. A transcript that grows, and what hooks told meanwhile,
were taken in by turns; derived one after the other their events would get other numbers where no database tells them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from recollect.capture.replay import is_appended
from recollect.ingest.rebuild.slices import Revision, Slice


def in_turns(
    revisions: Iterable[Revision], slices: Callable[[Revision], Iterator[Slice]]
) -> Iterator[tuple[Revision, Slice]]:
    """Yield the slices of revisions, session by session, those of one session in the order in which they were seen.

    revisions: in the order of first sight. Those of one source come one after the other, whatever the clock said.
    slices: called for each revision when its first turn comes.
    """
    for group in _by_session(revisions):
        begun: dict[int, _Turns] = {}
        for revision, to_bytes in _turns(group):
            if id(revision) not in begun:
                begun[id(revision)] = _Turns(slices(revision))
            for one in begun[id(revision)].up_to(to_bytes):
                yield revision, one


def _by_session(revisions: Iterable[Revision]) -> list[list[Revision]]:
    """Return the revisions that have to do with one session together."""
    groups: dict[tuple[str, str, str], list[Revision]] = {}
    for revision in revisions:
        row = revision.row
        groups.setdefault((row.agent, row.session, "" if row.session else row.source_id), []).append(revision)
    return list(groups.values())


def _turns(revisions: Sequence[Revision]) -> list[tuple[Revision, int | None]]:
    """Return revisions as they grew, each with the byte up to which it was seen then; None: with all that is left.

    A revision that grew by turns with others gets its `cuts`.
    """
    if len(revisions) == 1:
        return [(revisions[0], None)]
    sights: list[tuple[int, int, int]] = []
    latest: dict[str, int] = {}
    for place, revision in enumerate(revisions):
        source = revision.row.source_id
        known = revision.observations or [(revision.committed_bytes, revision.row.observed_at)]
        is_cut = is_appended(revision.row.container) and not revision.holes
        for to_bytes, at in known if is_cut else known[:1]:
            latest[source] = max(at, latest.get(source, at))
            sights.append((latest[source], place, to_bytes))
    sights.sort(key=itemgetter(0, 1))
    turns = [(place, max(to for _at, _place, to in run)) for place, run in groupby(sights, key=itemgetter(1))]
    last = {place: number for number, (place, _to) in enumerate(turns)}
    found: list[tuple[Revision, int | None]] = []
    for number, (place, to_bytes) in enumerate(turns):
        revision = revisions[place]
        if number == last[place]:
            found.append((revision, None))
        else:
            revision.cuts.append(to_bytes)
            found.append((revision, to_bytes))
    return found


class _Turns:
    """The slices of one revision, taken in turns."""

    def __init__(self, slices: Iterator[Slice]) -> None:
        self._slices = slices
        self._next: Slice | None = None

    def up_to(self, to_bytes: int | None) -> Iterator[Slice]:
        """Yield the slices whose records begin before a byte; None: all that are left."""
        while (one := self._next or next(self._slices, None)) is not None:
            records = one[0].records
            if to_bytes is not None and (not records or records[0].offset >= to_bytes):
                self._next = one
                return
            self._next = None
            yield one
