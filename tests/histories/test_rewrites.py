"""Rewrites that look like appends: what random histories once found, each for itself."""

from __future__ import annotations

import pytest

from tests.pipeline.conftest import World


def revisions(world: World, uid: str) -> list[bytes]:
    rows = [r for r in world.memory.reader().ledgers() if r.session_uid == uid]
    return [b"".join(world.memory.upkeep.export_bytes(uid, revision=row.revision, format="raw")) for row in rows]


def ids(world: World, uid: str) -> list[str]:
    return sorted(e.event_id for e in world.memory.events(uid) if e.kind == "user_message")


@pytest.mark.parametrize("whole_lines_before", [0, 1])
def test_a_file_written_anew_after_a_half_line_is_not_taken_for_its_end(world: World, whole_lines_before: int) -> None:
    one = world.claude()
    kept = [one.user(f"prompt {i}") for i in range(whole_lines_before)]
    before = one.path.read_bytes() if kept else b""
    one.raw(b'{"type": "assistant", "uuid": ')
    half = one.path.read_bytes()
    world.memory.sync()
    one.path.write_bytes(before)
    kept.append(one.user("another line stands where the half one was"))
    world.memory.sync()
    assert revisions(world, one.uid) == [half, one.path.read_bytes()]
    assert ids(world, one.uid) == sorted(kept)
    assert world.memory.upkeep.verify().ok


def test_a_half_line_that_is_finished_goes_on_in_its_revision(world: World) -> None:
    one = world.claude()
    one.user("prompt")
    whole = one.path.read_bytes()
    for end in (10, 50, len(whole)):
        one.path.write_bytes(whole[:end])
        world.memory.sync()
    assert revisions(world, one.uid) == [whole]
