"""What the memory does not hold, so that "no hit" is not read as "it never happened"."""

from __future__ import annotations

import calendar
from collections.abc import Collection, Sequence

import msgspec

from recollect.recall.answers import SearchAnswer
from recollect.store.reader import Reader
from recollect.units import plural

NOTHING = "nothing found"
NOT_INDEXED = "nothing has been indexed yet"
_MEND = "run `recollect doctor --fix`"
_INDEX = "index"
"""The consumer of the change log that the text index is."""


def unsearched(store: Reader, present: Collection[str], damaged: Collection[str]) -> tuple[str, ...]:
    """Return notes on what a search cannot find now: missing parts of the index, and its lag.

    present: the parts of the index that were searched. damaged: existing parts that cannot be read.
    """
    notes = []
    for name, events in store.shards().items():
        if name not in present:
            how = "damaged" if name in damaged else "missing"
            notes.append(f"the index {_of(name)} is {how}: {_events(events)} not searched; {_MEND}")
    for name in store.entries.shards():
        if name not in present:
            how = "damaged" if name in damaged else "missing"
            notes.append(f"the index of {name} is {how}: none of them were searched; {_MEND}")
    return (*notes, *lagging(store))


def lagging(store: Reader) -> tuple[str, ...]:
    """Return what is stored and not indexed yet, a note each. A look at the database."""
    notes = []
    lag = store.index_lag(_INDEX)
    if lag.events:
        notes.append(f"the index lags behind: {_events(lag.events)} not searched; run `recollect sync`")
    if lag.has_entries:
        notes.append("the index lags behind: what was learned or noted last was not searched; run `recollect sync`")
    return tuple(notes)


def left_out_parts(_present: Collection[str], damaged: Collection[str]) -> tuple[str, ...]:
    """Return which parts of the index are damaged, where nobody knows what else there should be."""
    return tuple(f"part {name} of the index is damaged and was left out" for name in damaged)


def partly(answer: SearchAnswer, missing: Sequence[str]) -> SearchAnswer:
    """Return an answer that says what was not searched, and claims no absence because of it."""
    if not missing:
        return answer
    notes = answer.notes
    if not answer.hits:
        notes = (
            f"{NOTHING} in what was searched",
            *(note for note in notes if not note.startswith((NOTHING, NOT_INDEXED))),
        )
    return msgspec.structs.replace(answer, abstained=False, notes=tuple(dict.fromkeys((*notes, *missing))))


def _of(shard: str) -> str:
    """Return a shard of events as people call it: they are named by month."""
    year, _, month = shard.partition("-")
    if year.isdecimal() and month.isdecimal() and 1 <= int(month) <= 12:
        return f"of {calendar.month_name[int(month)]} {year}"
    return f"of {shard} sessions"


def _events(count: int) -> str:
    return plural(count, "event was", "events were")


class Coverage(msgspec.Struct, frozen=True):
    """What is known to be missing. All empty: everything that was found on this machine is in the memory.

    disabled: agents with history here that the configuration leaves out. unreadable: sources that could not be read, by
    agent. notes: what the last look at the machine said.
    """

    disabled: tuple[str, ...] = ()
    unreadable: dict[str, int] = {}
    notes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether nothing is known to be missing."""
        return self == Coverage()

    def sentence(self, *, is_refreshing: bool = False) -> str:
        """Return one line for the reader of an answer, "" if nothing is missing.

        is_refreshing: changes are being ingested at this moment.
        """
        parts: list[str] = []
        if is_refreshing:
            parts.append("catching up, the newest events may be missing")
        if self.disabled:
            parts.append(f"not read because disabled: {', '.join(self.disabled)}")
        if self.unreadable:
            counted = ", ".join(f"{agent} {count}" for agent, count in sorted(self.unreadable.items()))
            parts.append(f"unreadable sources of {counted} (recollect doctor)")
        parts += self.notes
        return f"Coverage is partial: {'; '.join(parts)}." if parts else ""
