"""Rewrites that look like appends: what random histories once found, each for itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.store.meta import write_mark
from recollect.testing.builders import ClaudeTranscript
from tests.ingest.conftest import World


def revisions(world: World, uid: str) -> list[bytes]:
    rows = [r for r in world.memory.reader().ledgers() if r.session_uid == uid]
    return [b"".join(world.memory.maintenance.export_bytes(uid, revision=row.revision, format="raw")) for row in rows]


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
    assert world.memory.maintenance.verify().ok


def test_a_half_line_that_is_finished_goes_on_in_its_revision(world: World) -> None:
    one = world.claude()
    one.user("prompt")
    whole = one.path.read_bytes()
    for end in (10, 50, len(whole)):
        one.path.write_bytes(whole[:end])
        world.memory.sync()
    assert revisions(world, one.uid) == [whole]


MIDDLE_TURNS = 40


def long_session(world: World) -> ClaudeTranscript:
    """A session whose middle lies outside of the first and the last 4 KiB."""
    one = world.claude()
    for number in range(MIDDLE_TURNS):
        one.user(f"prompt {number:03} " + "x" * 1000)
    world.memory.sync()
    return one


def with_another_middle(content: bytes) -> bytes:
    """The same content but for one word in the middle, as long as before."""
    changed = content.replace(b"prompt 020 ", b"tampered20 ")
    assert changed != content
    assert len(changed) == len(content)
    return changed


def put_in_place(path: Path, content: bytes) -> None:
    """Replace a file by another one of its name: a new inode."""
    beside = path.with_suffix(".new")
    beside.write_bytes(content)
    beside.replace(path)


def assert_rewritten(world: World, one: ClaudeTranscript, before: bytes) -> None:
    assert revisions(world, one.uid) == [before, one.path.read_bytes()]
    assert world.memory.search("tampered20", sync=False).hits
    assert world.memory.maintenance.verify().ok


def test_a_file_replaced_by_one_with_another_middle_and_a_longer_end_is_a_new_revision(world: World) -> None:
    one = long_session(world)
    before = one.path.read_bytes()
    put_in_place(one.path, with_another_middle(before))
    one.user("and one more at the end")
    world.memory.sync()
    assert_rewritten(world, one, before)


def test_a_file_replaced_by_one_with_the_same_bytes_and_a_longer_end_goes_on_in_its_revision(world: World) -> None:
    one = long_session(world)
    put_in_place(one.path, one.path.read_bytes())
    one.user("and one more at the end")
    world.memory.sync()
    assert revisions(world, one.uid) == [one.path.read_bytes()]


def test_another_middle_in_a_file_that_did_not_grow_is_a_new_revision(world: World) -> None:
    one = long_session(world)
    before = one.path.read_bytes()
    one.path.write_bytes(with_another_middle(before))
    os.utime(one.path, ns=(0, 0))
    world.memory.sync()
    assert_rewritten(world, one, before)


def test_a_file_whose_middle_changed_while_it_grew_is_a_new_revision_once_it_is_left_alone(world: World) -> None:
    one = long_session(world)
    before = one.path.read_bytes()
    one.path.write_bytes(with_another_middle(before))
    one.user("and one more at the end")
    world.memory.sync()
    world.memory.sync()
    assert revisions(world, one.uid)[-1] == one.path.read_bytes()
    assert world.memory.search("tampered20", sync=False).hits
    assert world.memory.maintenance.verify().ok


def test_a_file_whose_middle_changed_while_it_grew_is_a_new_revision_at_once_where_its_session_is_over(
    world: World,
) -> None:
    one = long_session(world)
    before = one.path.read_bytes()
    one.path.write_bytes(with_another_middle(before))
    one.user("and one more at the end")
    os.utime(one.path, ns=(0, 0))
    world.memory.sync()
    assert_rewritten(world, one, before)


def test_a_moved_file_with_another_middle_is_a_new_revision(world: World) -> None:
    one = long_session(world)
    before = one.path.read_bytes()
    target = one.path.parent.with_name("-w-elsewhere") / one.path.name
    target.parent.mkdir()
    target.write_bytes(with_another_middle(before))
    one.path.unlink()
    world.memory.sync()
    assert sorted(revisions(world, one.uid)) == sorted([before, target.read_bytes()])
    assert world.memory.search("tampered20", sync=False).hits


def test_a_middle_that_changed_before_this_version_looked_is_found_in_the_background(world: World) -> None:
    one = long_session(world)
    before, seen = one.path.read_bytes(), one.path.stat()
    one.path.write_bytes(with_another_middle(before))
    os.utime(one.path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    write_mark(world.memory.home, "rechecks", "")  # as a version without such notes leaves it
    world.memory.sync()
    assert_rewritten(world, one, before)


def test_a_large_file_is_compared_over_several_passes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    one = world.claude()
    for number in range(1200):
        one.user(f"prompt {number:04} " + " ".join(str(number * n % 1009) for n in range(300)))
    world.memory.sync()
    before = one.path.read_bytes()
    changed = before.replace(b"prompt 0600 ", b"tampered600 ").replace(b"prompt 1100 ", b"tampered110 ")
    one.path.write_bytes(changed)
    one.user("and one more at the end")
    monkeypatch.setattr("recollect.ingest.rechecks.PASS_BYTES", 400_000)
    world.memory.sync()
    passes = 0
    while len(revisions(world, one.uid)) == 1:
        world.memory.sync()
        passes += 1
        assert passes < 20
    assert passes > 1
    assert revisions(world, one.uid)[-1] == one.path.read_bytes()


def test_what_was_compared_once_is_not_read_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    long_session(world)
    world.memory.sync()
    monkeypatch.setattr("recollect.ingest.plan.compare_whole", lambda *_args, **_more: pytest.fail("read again"))
    world.memory.sync()
