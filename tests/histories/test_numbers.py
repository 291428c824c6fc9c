"""What `session#seq` names stays what it names, in whatever order things come and however often all is derived anew."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import RecollectError
from recollect.ingest import rebuild
from recollect.maintenance.deep_verify import compare_events
from recollect.memory import ForgetSelection
from tests.examples import tried
from tests.ingest.test_hook_spool import START_S, UID, Desk, a_desk, called, days, deliveries, prompted

Pair = tuple[int, str, int]
"""(seq, event id, part)"""
WAYS = ("sync", "sync --force", "rebuild all", "newer parser", "database lost", "other detectors", "another key")
FILES = ("memory.db", "memory.db-wal", "memory.db-shm")


@pytest.fixture
def desk() -> Iterator[Desk]:
    """Give a session of which a hook told first, then the transcript, then a hook again."""
    with a_desk() as one:
        for number, action in enumerate((prompted(0, "yes", START_S, has_id=False), called(1, "ls", START_S + 30))):
            for payload in action.hooks:
                one.drop(payload, at_s=action.at_s + number)
            one.memory.sync()
            one.write(*action.lines)
            one.memory.sync()
        yield one


def numbers(desk: Desk, uid: str = UID) -> set[Pair]:
    """Return what every number of a session names, the hidden ones included."""
    found = desk.memory.reader().events(uid, limit=None, include_hidden=True)
    return {(event.seq, event.event_id, event.part) for event in found}


def lose_database(desk: Desk) -> None:
    desk.memory.close()
    for name in FILES:
        (desk.home / name).unlink(missing_ok=True)


def derive(desk: Desk, way: str) -> None:
    """Have the memory look again, and derive what is stored in one of the ways in which that is done."""
    match way:
        case "sync --force":
            desk.memory.sync(force=True)
        case "rebuild all":
            desk.memory.maintenance.rebuild("all")
        case "newer parser":
            desk.age()
            desk.memory.sync()
        case "other detectors":
            desk.memory.close()
            with closing(sqlite3.connect(desk.home / "memory.db")) as db, db:
                db.execute("UPDATE meta SET value = 'others' WHERE key = 'detectors'")
            desk.memory.sync()
        case "another key":
            desk.memory.sync()
            desk.memory.maintenance.keys.rotate()
            desk.memory.sync()
        case "database lost":
            desk.memory.sync()
            lose_database(desk)
            desk.memory.sync()
        case _:
            desk.memory.sync()


@given(data=st.data())
@settings(max_examples=tried(12))
def test_a_number_names_the_same_event_for_ever(data: st.DataObject) -> None:
    steps, _ = data.draw(deliveries(data.draw(days(gap_s=30))))
    with a_desk() as desk:
        desk.memory.sync()
        shown: set[Pair] = set()
        for step in steps:
            if step.drop is not None:
                desk.drop(step.drop[0], at_s=step.drop[1])
            elif step.lines:
                desk.write(*step.lines)
            else:
                derive(desk, data.draw(st.sampled_from(WAYS)))
                if any(session.session_uid == UID for session in desk.memory.sessions(sync=False).sessions):
                    now = numbers(desk)
                    assert shown <= now
                    shown = now
        assert len({seq for seq, _id, _part in shown}) == len(shown)


@pytest.mark.parametrize("way", WAYS)
def test_a_hook_that_told_before_the_transcript_keeps_its_numbers(desk: Desk, way: str) -> None:
    before = numbers(desk)
    derive(desk, way)
    assert numbers(desk) == before


def test_sources_whose_events_came_in_another_order_keep_their_numbers(desk: Desk) -> None:
    """Numbers that no order of derivation would give are taken over all the same."""
    lose_database(desk)
    journal = rebuild.revisions_of
    with pytest.MonkeyPatch.context() as other:
        other.setattr(rebuild, "revisions_of", lambda archive: _each_at_once(journal(archive)))
        desk.memory.sync()
    before = numbers(desk)
    desk.memory.maintenance.rebuild("all")
    assert numbers(desk) == before


def _each_at_once(revisions: list[Any]) -> list[Any]:
    for revision in revisions:
        revision.observations = revision.observations[-1:]
    return revisions[::-1]


def test_a_deep_check_finds_every_number_as_a_rebuild_would_give_it(desk: Desk) -> None:
    assert all(part.ok for part in desk.memory.maintenance.verify_deep().deep)


def test_a_deep_check_names_the_first_event_that_would_get_another_number(desk: Desk) -> None:
    with a_desk() as other:
        for path in desk.transcript.parent.iterdir():
            (other.transcript.parent / path.name).write_bytes(path.read_bytes())
        other.memory.sync()
        _sessions, events = compare_events(desk.memory.reader(), other.memory.reader())
        theirs = {(name, part): seq for seq, name, part in numbers(other)}
    told = [one for one in events.differences if "would become" in one.detail]
    (first, name, part), *_ = sorted(one for one in numbers(desk) if theirs.get(one[1:], one[0]) != one[0])
    assert told[0].what == f"{UID}#{first}"
    assert f"#{theirs[name, part]}" in told[0].detail


@pytest.mark.parametrize(("step", "after"), [("write_file", 0), ("move", 0), ("move", 1)])
def test_a_rebuild_that_dies_keeps_every_number(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, step: str, after: int
) -> None:
    before = numbers(desk)
    whole = getattr(rebuild, step)
    calls: list[Path] = []

    def dying(path: Path, *args: Any, **named: Any) -> None:
        if len(calls) >= after:
            raise OSError("killed")
        calls.append(path)
        whole(path, *args, **named)

    with monkeypatch.context() as broken:
        broken.setattr(rebuild, step, dying)
        with pytest.raises(RecollectError):
            desk.memory.maintenance.rebuild("all")
    desk.memory.close()
    desk.memory.sync()
    assert numbers(desk) == before
    desk.memory.maintenance.rebuild("all")
    assert numbers(desk) == before


def test_what_is_forgotten_leaves_the_numbers_of_the_rest(desk: Desk) -> None:
    before = numbers(desk)
    desk.memory.maintenance.forgetting.run(ForgetSelection(pattern="toolu_1"))
    left = numbers(desk)
    assert set() < left < before
    desk.write(*prompted(7, "and then", START_S + 90, has_id=False).lines)
    desk.memory.sync()
    after = numbers(desk)
    assert left <= after
    assert not {seq for seq, _id, _part in after - left} & {seq for seq, _id, _part in before}
    desk.memory.maintenance.rebuild("all")
    assert numbers(desk) == after


def test_a_number_that_was_given_after_a_backup_is_given_to_nothing_else_after_its_restore(desk: Desk) -> None:
    backup = desk.home.parent / "backup"
    desk.memory.maintenance.backup(backup)
    old = numbers(desk)
    (hook,) = called(9, "make", START_S + 60).hooks[:1]
    desk.drop(hook, at_s=START_S + 60)
    desk.memory.sync()
    given_since = {seq for seq, _id, _part in numbers(desk) - old}
    assert given_since
    desk.memory.maintenance.restore(backup, force=True)
    assert numbers(desk) == old
    desk.write(*prompted(7, "and then", START_S + 90, has_id=False).lines)
    desk.memory.sync()
    assert not given_since & {seq for seq, _id, _part in numbers(desk)}


def test_a_number_under_which_nothing_is_shown_says_why(desk: Desk) -> None:
    shown = {event.seq for event in desk.events()}
    told = {seq: desk.memory.reader().why_missing(UID, seq) for seq, _id, _part in numbers(desk)}
    assert {seq for seq, why in told.items() if not why} == shown
    assert {*told.values()} >= {"", "another record of the session says the same"}
    assert desk.memory.reader().why_missing(UID, max(told) + 1) == ""
