"""What an agent writes is searchable without anybody asking for it, once and whole."""

from __future__ import annotations

import json
import shutil
import signal

import pytest

from tests.serve.daemon.conftest import Desk, wait_until


def test_an_append_is_found_by_another_process(desk: Desk) -> None:
    talk = desk.claude("one")
    talk.user("the first request")
    desk.up()
    assert desk.has("request")
    talk.assistant("the quokka was here")
    desk.wait_for("quokka")
    wait_until(lambda: desk.status().delay is not None)


def test_fifty_appends_are_each_taken_in_once(desk: Desk) -> None:
    talks = [desk.claude(f"talk {number}") for number in range(5)]
    for talk in talks:
        talk.user("it begins")
    desk.up()
    for number in range(50):
        talks[number % 5].user(f"append number{number:02d}x")
    for number in range(50):
        desk.wait_for(f"number{number:02d}x")
    with desk.memory() as memory:
        for talk in talks:
            said = [e.payload.text for e in memory.events(talk.uid) if e.kind == "user_message"]  # type: ignore[union-attr]
            assert len(said) == len(set(said)) == 11
        assert memory.maintenance.verify().ok


def test_a_question_right_behind_an_append_finds_it_or_is_told_that_it_may_be_missing(desk: Desk) -> None:
    """The system tells of a change some time after it: who asks before looks at the files that changed last himself."""
    talk = desk.claude("one")
    talk.user("it begins with a quokka")
    desk.up()
    desk.wait_for("quokka")
    with desk.memory() as memory:
        for number in range(20):
            talk.user(f"append number{number:02d}x")
            answer = memory.search(f"number{number:02d}x")
            assert answer.hits or any("catching up" in note for note in answer.notes), number


def test_a_command_right_behind_an_append_finds_it_or_is_told_that_it_may_be_missing(desk: Desk) -> None:
    talk = desk.claude("one")
    talk.user("it begins with a quokka")
    daemon = desk.up()
    desk.wait_for("quokka")
    for number in range(5):
        talk.user(f"append number{number:02d}x")
        answer = json.loads(desk.run("search", "--json", f"number{number:02d}x").stdout)
        assert answer["hits"] or any("catching up" in note for note in answer["notes"]), number
    daemon.end()
    talk.user("the daemon never met the numbat")
    assert json.loads(desk.run("search", "--json", "numbat").stdout)["hits"]


def test_agents_that_appear_later_are_noticed(desk: Desk) -> None:
    """No folder of any agent is there when the daemon starts."""
    desk.up()
    assert desk.status().watched == tuple(w for w in desk.status().watched if "claude" not in w.agents)
    talk = desk.claude("late", cwd="/w/elsewhere")
    talk.user("a latecomer speaks of narwhals")
    desk.wait_for("narwhals")
    talk.user("and then of ocelots")
    desk.wait_for("ocelots")
    other = desk.claude("later", cwd="/w/third")
    other.user("in a new folder it is about axolotls")
    desk.wait_for("axolotls")


def test_a_moved_session_is_the_same_and_a_deleted_one_stays(desk: Desk) -> None:
    talk = desk.claude("one")
    talk.user("about the platypus")
    gone = desk.claude("two")
    gone.user("about the wombat")
    desk.up()
    new_folder = talk.path.parent.with_name("-w-moved")
    new_folder.mkdir()
    moved = talk.path.rename(new_folder / talk.path.name)
    gone.path.unlink()
    with moved.open("ab") as file:
        file.write(talk.path.read_bytes() if talk.path.exists() else b"")
    talk.path = moved
    talk.user("it moved on to pangolins")
    desk.wait_for("pangolins")

    def is_gone() -> bool:
        with desk.memory() as memory:
            states = {row.path: row.status for row in memory.reader().sources("claude")}
        return states == {str(moved): "active", str(gone.path): "gone"}

    wait_until(is_gone)
    assert desk.has("wombat")


def test_an_unmounted_home_is_absent_not_deleted(desk: Desk) -> None:
    talk = desk.claude("one")
    talk.user("about the platypus")
    desk.up()
    away = desk.claude_home.with_name("away")
    desk.claude_home.rename(away)
    wait_until(lambda: not any("claude" in place.agents for place in desk.status().watched))

    def states() -> set[str]:
        with desk.memory() as memory:
            return {row.status for row in memory.reader().sources("claude")}

    assert states() == {"active"}
    desk.claude_home.mkdir()  # where a volume was: the folder is there, and empty
    passes = desk.status().counters.full_passes
    wait_until(lambda: desk.run("sync").returncode == 0)
    assert states() == {"active"}
    desk.claude_home.rmdir()
    away.rename(desk.claude_home)
    talk.user("back with capybaras")
    desk.wait_for("capybaras")
    assert states() == {"active"}
    assert desk.status().counters.full_passes >= passes


@pytest.mark.parametrize("watch", ["auto", "poll"])
def test_folders_are_watched_as_configured(desk: Desk, watch: str) -> None:
    desk.configure(f'[daemon]\nwatch = "{watch}"\n')
    talk = desk.claude("one")
    talk.user("it begins")
    desk.up()
    talk.user("then came tapirs")
    desk.wait_for("tapirs")
    how = {place.how for place in desk.status().watched}
    assert how == ({"polled"} if watch == "poll" else {"notified"})


def test_a_session_that_has_ended_is_analysed_and_embedded(desk: Desk) -> None:
    talk = desk.claude("one")
    talk.user("please choose: we use SQLite for the queue")
    talk.assistant("Decided: SQLite it is.")
    desk.up()  # the builder's sessions lie in the past, so that they have ended

    def is_done() -> bool:
        counters = desk.status().counters
        return counters.distilled_sessions > 0 and counters.embedded_texts > 0

    wait_until(is_done)
    with desk.memory() as memory:
        assert memory.digest(talk.uid) is not None


def test_a_daemon_keeps_going_when_its_home_is_damaged_and_says_so(desk: Desk) -> None:
    talk = desk.claude("one")
    talk.user("it begins")
    desk.up()
    keys = desk.home / "keys"
    hidden = shutil.move(keys, desk.root / "hidden-keys")
    talk.user("while the key is gone: jaguarundi")
    wait_until(lambda: any(f.work == "taking in" for f in desk.status().failures))
    assert desk.run("up", "--status").returncode == 3
    shutil.move(hidden, keys)
    desk.wait_for("jaguarundi")
    wait_until(lambda: desk.status().failures == ())
    assert desk.run("up", "--status").returncode == 0
    desk.daemons[-1].end(signal.SIGINT)
