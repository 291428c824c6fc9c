"""Plays a transcript back as it grew: what a watcher would have been given, step by step."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from recollect.insights.preparation import default_stages
from recollect.insights.stages import Stages
from recollect.memory.pipes.reader import Meaning, mean
from recollect.model.events import Event
from recollect.model.insights.nodes import Node
from recollect.store.sinks import Given, Group, Item, Retracted, encode_item, fingerprint, group_of_id, id_of_item


class Changes:
    """Remembers what was given and says what is new, changed or no longer so."""

    def __init__(self, given: Mapping[str, Given] | None = None, *, groups: Collection[Group]) -> None:
        """given: what a sink holds from before, see `Sink.given`. groups: what `take` is given; what the sink holds of
        others is left alone."""
        held = (given or {}).items()
        self._given: dict[str, Given] = {name: of for name, of in held if group_of_id(name, of[0]) in groups}

    def take(self, items: Sequence[Item], sessions: Iterable[str]) -> list[Item]:
        """Return what to give for all present items of some sessions: those that are new or changed, then what of
        these sessions was given and is no more."""
        given: list[Item] = []
        now: dict[str, Given] = {}
        for item in items:
            name = id_of_item(item)
            now[name] = (item.session_uid, fingerprint(encode_item(item)))
            if self._given.get(name) != now[name]:
                given.append(item)
        asked = {*sessions, *(uid for uid, _ in now.values())}
        gone = [(name, uid) for name, (uid, _) in self._given.items() if uid in asked and name not in now]
        for name, uid in gone:
            del self._given[name]
            given.append(Retracted(name, uid))
        self._given.update(now)
        return given


def groups_of(*, nodes: bool = True, signals: bool = False, digests: bool = False) -> frozenset[Group]:
    """Return the groups that were asked for."""
    asked: dict[Group, bool] = {"nodes": nodes, "signals": signals, "digests": digests}
    return frozenset(group for group, is_wanted in asked.items() if is_wanted)


def items_of(meaning: Meaning, *, nodes: bool = True, signals: bool = False, digests: bool = False) -> list[Item]:
    """Return what was asked for of a meaning: of each session its signals, nodes and digest; then what reaches over."""
    found: list[Item] = []
    for analysis in meaning.analyses:
        found += analysis.signals if signals else []
        found += analysis.nodes if nodes else []
        found += [analysis.digest] if digests else []
    across: Sequence[Node] = meaning.across if nodes else ()
    return [*found, *across]


def play(
    sessions: Mapping[str, Sequence[Event]], *, steps: int = 10, stages: Stages | None = None,
    signals: bool = False, digests: bool = False, given: Mapping[str, Given] | None = None,
) -> Iterator[list[Item]]:  # fmt: skip
    """Yield for each of at most `steps` moments what is new, changed or retracted then.

    The moments lie after whole turns, spread evenly over what all sessions hold, in the order of the transcript. Taken
    together they give what one pass over the whole gives. given: what a sink holds from before.
    """
    stages = stages or default_stages()
    order = [event for events in sessions.values() for event in events]
    changes = Changes(given, groups=groups_of(signals=signals, digests=digests))
    for end in _moments(order, steps):
        so_far: dict[str, list[Event]] = {}
        for event in order[:end]:
            so_far.setdefault(event.session_uid, []).append(event)
        yield changes.take(items_of(mean(so_far, stages=stages), signals=signals, digests=digests), so_far)


def _moments(order: Sequence[Event], steps: int) -> list[int]:
    """Return ends of turns, at most `steps`, the last one the end of everything."""
    ends = [
        i
        for i in range(1, len(order))
        if (order[i].session_uid, order[i].turn_index) != (order[i - 1].session_uid, order[i - 1].turn_index)
    ]
    ends.append(len(order))
    if len(ends) <= steps:
        return ends
    return sorted({ends[(i + 1) * len(ends) // steps - 1] for i in range(steps)})
