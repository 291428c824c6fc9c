"""What `session#seq` names stays what it names, in whatever order things come and however often all is derived anew."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import tried
from tests.ingest.test_hook_spool import UID, Desk, a_desk, days, deliveries

Pair = tuple[int, str, int]
"""(seq, event id, part)"""
AGAIN = ("sync", "sync --force", "rebuild all", "newer parser")


def numbers(desk: Desk, uid: str = UID) -> set[Pair]:
    """Return what every number of a session names, the hidden ones included."""
    found = desk.memory.reader().events(uid, limit=None, include_hidden=True)
    return {(event.seq, event.event_id, event.part) for event in found}


def derive(desk: Desk, way: str) -> None:
    """Derive what is stored once more."""
    match way:
        case "sync":
            desk.memory.sync()
        case "sync --force":
            desk.memory.sync(force=True)
        case "rebuild all":
            desk.memory.rebuild("all")
        case _:
            desk.age()
            desk.memory.sync()


@given(data=st.data())
@settings(max_examples=tried(30))
def test_a_number_names_the_same_event_for_ever(data: st.DataObject) -> None:
    steps, _ = data.draw(deliveries(data.draw(days(gap_s=30))))
    with a_desk() as desk:
        shown: set[Pair] = set()
        for step in steps:
            if step.drop is not None:
                desk.drop(step.drop[0], at_s=step.drop[1])
            elif step.lines:
                desk.write(*step.lines)
            else:
                derive(desk, data.draw(st.sampled_from(AGAIN)))
                shown |= numbers(desk)
                assert shown == numbers(desk)
        derive(desk, "sync")
        shown |= numbers(desk)
        assert len({seq for seq, _id, _part in shown}) == len(shown)
        for way in AGAIN[1:]:
            derive(desk, way)
            assert shown == numbers(desk)
