"""`user.md` follows what the user prefers, and what they do to it by hand is never lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.errors import StoreError
from recollect.ingest.learnings.judgements import write_user_file
from recollect.insights.learnings.user_file import Written, find_region, render
from recollect.memory import Memory
from recollect.model.learnings.learnings import Learning
from tests.ingest.conftest import World
from tests.ingest.learnings.stand_ins import OneRule, states, take_in

MINE = "# Me\r\nI write Windows line ends.\r\n\r\n"


def user_file(world: World) -> Path:
    return world.root / "memory" / "user.md"


def learn(memory: Memory) -> None:
    take_in(memory)
    assert memory.learn.run(extractor=OneRule()).notes == []


def lines(path: Path) -> tuple[str, ...]:
    region = find_region(path.read_bytes().decode())
    assert region is not None
    return region.lines


def prefer(world: World, *texts: str) -> None:
    """Have the user say each of these in two messages."""
    one = world.claude("one")
    for text in texts:
        one.user(f"preference: {text}")
        one.user(f"preference: {text}")


def test_nobody_gets_a_file_that_they_did_not_make(world: World) -> None:
    prefer(world, "use tabs")
    learn(world.memory)
    assert not user_file(world).exists()
    user_file(world).write_text("# mine, without marks\n")
    assert world.memory.learn.write_user_file().state == "unmarked"
    assert user_file(world).read_text() == "# mine, without marks\n"


def test_preferences_come_in_when_they_are_said_twice_or_confirmed_and_leave_the_rest_alone(world: World) -> None:
    one = world.claude("one")
    one.user("preference: use tabs")
    one.user("preference: speak German")
    path = user_file(world)
    learn(world.memory)
    path.write_bytes(render(MINE, ()).encode())
    learn(world.memory)
    assert not any(line.startswith("- ") for line in lines(path))
    one.user("preference: use tabs")
    learn(world.memory)
    assert lines(path) == ("- use tabs",)
    german = next(x for x in world.memory.learn.learnings() if x.text == "speak German")
    world.memory.learn.confirm(german.id)
    assert set(lines(path)) == {"- use tabs", "- speak German"}
    assert path.read_bytes().startswith(MINE.encode())
    world.memory.learn.retire(german.id)
    assert lines(path) == ("- use tabs",)


def test_a_line_taken_out_by_hand_is_retired_for_good_and_a_line_put_in_stays(world: World) -> None:
    path = user_file(world)
    prefer(world, "use tabs", "speak German")
    learn(world.memory)
    path.write_text(render("", ()))
    learn(world.memory)
    path.write_text(path.read_text().replace("- use tabs\n", "- my own line\n"))
    learn(world.memory)
    assert states(world.memory) == {"use tabs": "retired", "speak German": "active"}
    assert lines(path) == ("- speak German", "- my own line")
    world.claude("two").user("preference: use tabs")
    learn(world.memory)
    world.memory.maintenance.rebuild("all")
    learn(world.memory)
    assert states(world.memory)["use tabs"] == "retired"
    assert lines(path) == ("- speak German", "- my own line")


def test_marks_taken_out_by_hand_retire_nothing_and_stay_away(world: World) -> None:
    path = user_file(world)
    prefer(world, "use tabs")
    learn(world.memory)
    path.write_text(render("", ()))
    learn(world.memory)
    path.write_text("# all mine again\n")
    learn(world.memory)
    assert (path.read_text(), states(world.memory)) == ("# all mine again\n", {"use tabs": "active"})


def preference() -> Learning:
    return Learning(id="l1", kind="preference", text="use tabs", scope="user", state="confirmed")


def test_what_is_written_by_hand_while_it_is_written_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "user.md"
    path.write_text(render("# Me\n", ()))
    edits = iter(["# Me, edited\n", "# Me, edited twice\n"])

    def edit() -> None:
        text = next(edits, None)
        if text is not None:
            path.write_text(render(text, ()))

    report, written = write_user_file(path, [preference()], Written(), before_replacing=edit)
    assert (report.state, written.lines) == ("written", {"- use tabs": "l1"})
    assert path.read_text() == render("# Me, edited twice\n", ["- use tabs"])
    assert os.listdir(tmp_path) == ["user.md"]


def test_a_file_that_never_stands_still_is_left_alone_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "user.md"
    count = iter(range(1000))

    def edit() -> None:
        path.write_text(render(f"# {next(count)}\n", ()))

    edit()
    with pytest.raises(StoreError, match="keeps changing"):
        write_user_file(path, [preference()], Written(), before_replacing=edit)
    assert "use tabs" not in path.read_text()
    assert os.listdir(tmp_path) == ["user.md"]


class Killed(BaseException):
    """Ends a run where it stands."""


def test_killed_before_it_is_in_place_the_file_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "user.md"
    path.write_text(render("# Me\n", ()))
    before = path.read_bytes()

    def die() -> None:
        raise Killed

    with pytest.raises(Killed):
        write_user_file(path, [preference()], Written(), before_replacing=die)
    assert path.read_bytes() == before
    write_user_file(path, [preference()], Written())
    assert lines(path) == ("- use tabs",)


@pytest.mark.skipif(os.name == "nt", reason="links and modes are POSIX")
def test_a_link_stays_one_and_a_mode_too(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "user.md"
    target.parent.mkdir()
    target.write_text(render("", ()))
    target.chmod(0o640)
    path = tmp_path / "user.md"
    path.symlink_to(target)
    write_user_file(path, [preference()], Written())
    assert path.is_symlink()
    assert lines(target) == ("- use tabs",)
    assert target.stat().st_mode & 0o777 == 0o640


def test_bytes_that_are_no_text_stay(tmp_path: Path) -> None:
    path = tmp_path / "user.md"
    path.write_bytes(b"\xff\xfe raw \x00\n" + render("", ()).encode() + b"\xc3\n")
    write_user_file(path, [preference()], Written())
    data = path.read_bytes()
    assert data.startswith(b"\xff\xfe raw \x00\n")
    assert data.endswith(b"\xc3\n")
    assert b"- use tabs" in data


def test_what_is_no_file_or_too_large_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "user.md"
    folder.mkdir()
    assert write_user_file(folder, [preference()], Written())[0].state == "unreadable"
    large = tmp_path / "large.md"
    large.write_bytes(b"x" * (1 << 20) + render("", ()).encode())
    assert write_user_file(large, [preference()], Written())[0].state == "unreadable"
    assert write_user_file(tmp_path / "gone.md", [preference()], Written())[0].state == "absent"
