"""One daemon a home; it stops at a signal, starts clean after any crash, and tells the truth about itself."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import sys
from pathlib import Path

import pytest

from recollect import __version__
from recollect.ingest import daemon_status as place
from recollect.ingest.daemon_status import CARD_NAME, LOCK_NAME
from recollect.wire import RUN_FOLDER, SOCKET_NAME
from tests.serve.daemon.conftest import Desk, wait_until

unix_only = pytest.mark.skipif(sys.platform == "win32", reason="signals and modes of POSIX")


@unix_only
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGTERM)])
def test_a_signal_ends_it_well_and_leaves_nothing_behind(desk: Desk, number: int) -> None:
    desk.claude("one").user("it begins")
    daemon = desk.up()
    assert daemon.end(number) == (0, "")
    assert not (desk.home / RUN_FOLDER / CARD_NAME).exists()
    assert not (desk.home / RUN_FOLDER / SOCKET_NAME).exists()
    assert desk.run("up", "--status").returncode == 1


def test_a_second_one_says_who_runs(desk: Desk) -> None:
    daemon = desk.up()
    done = desk.run("up", "--port", "0")
    assert done.returncode == 3
    assert f"pid {daemon.pid}" in done.stderr
    assert desk.status().pid == daemon.pid


@unix_only
def test_after_a_kill_the_next_one_starts_clean_and_nothing_is_lost_or_doubled(desk: Desk) -> None:
    talk = desk.claude("one")
    talk.user("before the crash: quokka")
    killed = desk.up()
    talk.user("as it died: wombat")
    killed.end(signal.SIGKILL)
    assert (desk.home / RUN_FOLDER / CARD_NAME).exists(), "this is what a crash leaves"
    assert (desk.home / RUN_FOLDER / SOCKET_NAME).exists()
    told = json.loads(desk.run("up", "--status", "--json").stdout)
    assert told["state"] == "not running"
    desk.up()
    desk.wait_for("wombat")
    with desk.memory() as memory:
        said = [e.payload.text for e in memory.events(talk.uid) if e.kind == "user_message"]  # type: ignore[union-attr]
        assert said == ["before the crash: quokka", "as it died: wombat"]
        assert memory.maintenance.verify().ok


@unix_only
def test_stopped_in_the_midst_of_taking_in_it_goes_on_with_the_next_start(desk: Desk) -> None:
    for number in range(60):
        talk = desk.claude(f"talk {number}")
        for turn in range(40):
            talk.user(f"request {turn} of talk {number:03d}")
            talk.assistant("an answer of some length, " * 20)
    assert desk.begin("--port", "0").end() == (0, "")
    desk.up()
    with desk.memory() as memory:
        assert memory.stats().sessions == 60
        assert sum(1 for e in memory.events(talk.uid) if e.kind == "user_message") == 40
        assert memory.maintenance.verify().ok


def test_a_port_that_is_taken_keeps_nobody_from_being_fresh(desk: Desk) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        talk = desk.claude("one")
        talk.user("it begins")
        daemon = desk.up("--port", str(port))
        assert daemon.url == ""
        assert str(port) in daemon.told["http"]
        talk.user("without a port: quokka")
        desk.wait_for("quokka")
        assert str(port) in desk.status().http


def test_a_port_that_is_free_again_is_taken_then(desk: Desk) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        desk.configure(f"[daemon]\nport = {port}\n")
        daemon = desk.up_as_configured()
        assert (daemon.url, f"127.0.0.1:{port}" in daemon.told["http"]) == ("", True)
        assert f"none: cannot listen on 127.0.0.1:{port}" in desk.run("up", "--status").stdout
        with desk.memory() as memory:
            found = next(check for check in memory.maintenance.doctor().checks if check.id == "daemon")
        assert (found.state, str(port) in found.detail) == ("warn", True)
    wait_until(lambda: desk.status().url == f"http://127.0.0.1:{port}")
    daemon.url = desk.status().url
    assert desk.status().http == ""
    assert daemon.get("/healthz").body == b"ok\n"
    with desk.memory() as memory:
        assert {check.state for check in memory.maintenance.doctor().checks if check.id == "daemon"} == {"ok"}
    desk.claude("one").user("afterwards aardvark")
    desk.wait_for("aardvark")
    assert daemon.end()[0] == 0
    log = (desk.home / "logs" / "daemon.log").read_text()
    assert log.count("cannot listen") == 1
    assert "the port is free now" in log


def test_http_can_be_switched_off(desk: Desk) -> None:
    desk.configure("[daemon]\nhttp = false\n")
    daemon = desk.up_as_configured()
    assert daemon.url == ""
    talk = desk.claude("one")
    talk.user("no web, but quokka")
    desk.wait_for("quokka")
    assert daemon.end() == (0, "")


@unix_only
def test_what_it_makes_is_for_its_user_alone(desk: Desk) -> None:
    desk.up()
    modes = {
        path.relative_to(desk.home).as_posix(): stat.S_IMODE(path.lstat().st_mode)
        for path in [
            desk.home,
            desk.home / RUN_FOLDER,
            *(desk.home / RUN_FOLDER).iterdir(),
            *(desk.home / "logs").iterdir(),
        ]
    }
    assert modes.pop(".") == 0o700
    assert modes.pop(RUN_FOLDER) == 0o700
    assert set(modes.values()) == {0o600}, modes
    assert {f"{RUN_FOLDER}/{name}" for name in (CARD_NAME, LOCK_NAME, SOCKET_NAME)} <= modes.keys()


@unix_only
def test_folders_above_a_home_that_it_makes_are_for_its_user_alone(desk: Desk) -> None:
    home = desk.root / "not" / "yet" / "there"
    place.Place(home).leave()
    made = [home, *home.parents[:2]]
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o700] * 3


@unix_only
def test_an_open_folder_of_its_own_is_closed(desk: Desk) -> None:
    (desk.home / RUN_FOLDER).mkdir(parents=True)
    (desk.home / RUN_FOLDER).chmod(0o755)
    desk.up()
    assert stat.S_IMODE((desk.home / RUN_FOLDER).stat().st_mode) == 0o700


@unix_only
def test_one_that_cannot_be_asked_says_why(desk: Desk) -> None:
    why = "/a/long/path: AF_UNIX path too long"
    with desk.memory() as memory:
        mine = place.Place(desk.home)
        mine.show(place.Card(os.getpid(), __version__, 0, no_socket=why))
        try:
            (check,) = [one for one in memory.maintenance.doctor().checks if one.id == "daemon"]
            told = desk.run("up", "--status")
            answer = json.loads(desk.run("up", "--status", "--json").stdout)
        finally:
            mine.leave()
    assert (check.state, why in check.detail, "RECOLLECT_HOME" in check.hint) == ("warn", True, True)
    assert why in told.stdout
    assert (answer["state"], answer["no_socket"]) == ("not answering", why)


def test_a_home_that_cannot_be_made_is_an_error_not_a_loop(desk: Desk) -> None:
    desk.home.write_text("a file stands where the home should be", "utf-8")
    done = desk.run("up", "--port", "0")
    assert done.returncode == 3
    assert "cannot be written" in done.stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_is_read_only_is_an_error(desk: Desk) -> None:
    desk.claude("one").user("it begins")
    assert desk.run("sync").returncode == 0
    desk.home.chmod(0o500)
    try:
        done = desk.run("up", "--port", "0")
    finally:
        desk.home.chmod(0o700)
    assert done.returncode == 3
    assert "cannot be written" in done.stderr


@unix_only
def test_it_runs_apart_from_the_terminal_until_it_is_stopped(desk: Desk) -> None:
    desk.claude("one").user("it begins with a quokka")
    first = desk.run("up", "--detach", "--port", "0", "--json")
    try:
        assert first.returncode == 0, first.stderr
        card = json.loads(first.stdout)
        assert card["is_new"]
        desk.wait_for("quokka")
        again = json.loads(desk.run("up", "--detach", "--json").stdout)
        assert (again["pid"], again["is_new"]) == (card["pid"], False)
        told = json.loads(desk.run("up", "--status", "--json").stdout)
        assert (told["state"], told["pid"]) == ("running", card["pid"])
    finally:
        stopped = json.loads(desk.run("up", "--stop", "--json").stdout)
    assert stopped["pid"] == card["pid"]
    assert desk.run("up", "--stop").returncode == 1
    wait_until(lambda: not _lives(card["pid"]))


@unix_only
def test_one_whose_home_is_taken_away_ends_and_leaves_the_next_ones_alone(desk: Desk) -> None:
    daemon = desk.up()
    desk.home.rename(desk.root / "taken-away")
    other = desk.begin("--port", "0")
    wait_until(lambda: daemon.process.poll() is not None)
    assert daemon.end()[0] == 0
    assert desk.status().pid == other.pid


@unix_only
def test_one_that_cannot_begin_apart_says_why(desk: Desk) -> None:
    desk.configure("[daemon]\nrescan_seconds = 600\n")
    (desk.home / "run").write_text("in the way", "utf-8")
    done = desk.run("up", "--detach")
    assert done.returncode == 3
    assert "cannot be written" in done.stderr


def test_the_status_of_none_is_told_too(desk: Desk) -> None:
    done = desk.run("up", "--status")
    assert done.returncode == 1
    assert "not running" in done.stdout
    assert not desk.home.exists(), "asking makes nothing"


@unix_only
def test_one_that_hangs_is_told_as_not_answering(desk: Desk) -> None:
    daemon = desk.up()
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        done = desk.run("up", "--status", "--json")
    finally:
        os.kill(daemon.pid, signal.SIGCONT)
    assert json.loads(done.stdout)["state"] == "not answering"
    assert done.returncode == 3


@pytest.mark.parametrize("arguments", [("--once", "--stop"), ("--detach", "--status"), ("--stop", "--port", "1")])
def test_what_excludes_itself_is_refused(desk: Desk, arguments: tuple[str, ...]) -> None:
    assert desk.run("up", *arguments).returncode == 2


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # Nobody may have waited for it: in a container without an init it stays a zombie.
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text("ascii", "replace").rpartition(")")[2].split()[0] != "Z"
