"""Who asks the daemon what is in the memory gets what the disk would give, or is told to read that."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from recollect import Memory
from recollect.client import (
    UNANSWERED,
    DaemonReply,
    EntryRequest,
    IngestRequest,
    Request,
    SearchRequest,
    SessionsRequest,
    ShowRequest,
    UsageRequest,
    ask_daemon,
    variable_hashes,
)
from recollect.memory import (
    EventFilter,
    Hit,
    SearchAnswer,
    SessionPage,
    SessionView,
    SyncProgress,
    SyncReport,
    UsageReport,
)
from recollect.paths import make_private
from recollect.serve.daemon import AskSocket
from recollect.serve.requests import Responder
from recollect.wire import socket_path
from tests.program import PATIENCE_S
from tests.serve.daemon.conftest import Daemon, Desk, wait_until
from tests.serve.daemon.test_asking import call_mcp

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this system has no Unix sockets")

QUERIES = ("quokka", '"quokka endpoint"', "*uokk*", "kind:user_message quokka -wombat", "why the quokka?")


def asked(desk: Desk, request: Request, kind: type = SearchAnswer) -> DaemonReply[object]:
    return ask_daemon(request, kind, env=desk.env, folder=str(desk.root))


def written(desk: Desk) -> None:
    for number in range(4):  # all on one page
        talk = desk.claude(f"talk{number}", cwd=str(desk.root))
        talk.user(f"please add the quokka endpoint number {number}")
        talk.assistant(f"Added the quokka endpoint {number}; the wombat sleeps.")


def cited(hits: tuple[Hit, ...]) -> list[str]:
    return [f"{hit.session_uid}#{hit.seq}" for hit in hits]


def test_every_surface_gives_the_same_hits(desk: Desk) -> None:
    desk.configure('[embedding]\nmodel = "off"\n')  # vectors that come meanwhile change the order
    written(desk)
    daemon = desk.up()
    for query in QUERIES:
        told = asked(desk, SearchRequest(query)).value
        assert isinstance(told, SearchAnswer)
        with desk.memory() as memory:
            own = memory.search(query)
        printed = json.loads(desk.run("search", "--json", "--", query).stdout)
        assert cited(own.hits), query
        assert cited(told.hits) == cited(own.hits)
        assert [f"{hit['session_uid']}#{hit['seq']}" for hit in printed["hits"]] == cited(own.hits)
        assert cited_to_agent(call_mcp(daemon, query=query)) == set(cited(own.hits))


def cited_to_agent(page: str) -> set[str]:
    """Return what a page for an agent cites: a session's further hits stand below its first, by their number alone."""
    found, session = set(), ""
    for whole, number in re.findall(r"^(claude:[-0-9a-f]+)?#(\d+) ", page, re.MULTILINE):
        session = whole or session
        found.add(f"{session}#{number}")
    return found


def test_the_daemon_tells_what_the_memory_does(desk: Desk) -> None:
    written(desk)
    desk.up()
    with desk.memory() as memory:
        page, usage = memory.sessions(), memory.usage.report()
        view = memory.recall.page(page.sessions[0].session_uid, limit=1)
    assert asked(desk, SessionsRequest(), SessionPage) == DaemonReply(page)
    assert asked(desk, ShowRequest(page.sessions[0].session_uid, limit=1), SessionView) == DaemonReply(view)
    assert asked(desk, UsageRequest(), UsageReport) == DaemonReply(usage)


def test_a_sync_is_done_by_the_daemon_and_learns_at_once(desk: Desk) -> None:
    desk.up()
    desk.claude("told", cwd=str(desk.root)).user("Remember that tests run with `make quokka`.")
    told = asked(desk, IngestRequest(variable_hashes(desk.env)), SyncReport).value
    assert isinstance(told, SyncReport)
    assert told.state == "done"
    assert told.agents["claude"].found == 1
    with desk.memory() as memory:
        assert [one.text for one in memory.learn.learnings()]
    assert json.loads(desk.run("sync", "--json").stdout)["agents"]["claude"]["unchanged"] == 1


def test_a_sync_tells_how_far_it_is_before_its_report(desk: Desk) -> None:
    desk.claude("told", cwd=str(desk.root)).user("Remember that tests run with `make quokka`.")
    path = Path(socket_path(str(desk.home)))
    make_private(path.parent)
    told: list[bytes] = []
    with Memory.open(env=desk.env) as memory:
        request = Responder(memory, sys.maxsize, has_looked=lambda: True).answer
        listening = AskSocket(path, {}, lambda _line: None, request=request)
        try:
            question = IngestRequest(variable_hashes(desk.env))
            report = ask_daemon(question, SyncReport, env=desk.env, folder=str(desk.root), tell=told.append).value
        finally:
            listening.close()
    assert report is not None
    assert report.state == "done"
    stages = [msgspec.json.decode(line, type=SyncProgress).stage for line in told]
    assert list(dict.fromkeys(stages)) == ["ingest", "distill"]


def test_who_looks_for_transcripts_elsewhere_syncs_himself(desk: Desk) -> None:
    desk.up()
    elsewhere = {**desk.env, "CLAUDE_CONFIG_DIR": str(desk.root / "elsewhere")}
    assert asked(desk, IngestRequest(variable_hashes(elsewhere)), SyncReport) == DaemonReply(None)


def test_a_question_that_raises_is_left_to_the_disk(desk: Desk) -> None:
    written(desk)
    desk.up()
    raising: tuple[Request, ...] = (
        SearchRequest("quokka repo:no-such"),
        SessionsRequest(repos=("no-such",)),
        ShowRequest("claude:nobody"),
        EntryRequest("note:nobody"),
        UsageRequest(agents=("nobody",)),
    )
    assert [asked(desk, request) for request in raising] == [DaemonReply(None)] * len(raising)


def test_a_name_that_only_the_folder_of_who_asks_knows_is_known(desk: Desk) -> None:
    written(desk)
    desk.up()
    told = asked(desk, SessionsRequest(repos=(desk.root.name,)), SessionPage).value
    with desk.memory() as memory:
        here = memory.sessions(where=EventFilter(repos=(desk.root.name,)), folders=(str(desk.root),))
    assert told == here


def test_who_has_another_configuration_is_not_answered(desk: Desk) -> None:
    desk.configure("[search]\nlimit = 3\n")
    desk.up()
    assert asked(desk, SearchRequest("quokka")).value is not None
    desk.configure("[search]\nlimit = 4\n")
    told = asked(desk, SearchRequest("quokka"))
    assert told.value is None
    assert told.note.startswith(UNANSWERED)
    assert "configuration" in told.note


def test_who_counts_in_another_time_zone_is_not_answered(desk: Desk) -> None:
    desk.env["TZ"] = "Asia/Kolkata"
    desk.up()
    told = asked(desk, SearchRequest("quokka"))
    assert told.value is None
    assert "time zone" in told.note


def test_where_no_daemon_is_at_work_there_is_nothing_to_say(desk: Desk) -> None:
    assert asked(desk, SearchRequest("quokka")) == DaemonReply(None)
    desk.up().end(signal.SIGKILL)
    assert os.path.exists(socket_path(str(desk.home))), "what it left is no daemon"
    assert asked(desk, SearchRequest("quokka")) == DaemonReply(None)


def test_a_daemon_that_dies_during_a_question_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = desk.up()
    daemon.process.send_signal(signal.SIGSTOP)
    told: list[DaemonReply[object]] = []
    is_connected = threading.Event()  # before that, who asks would find nobody listening
    connect = socket.socket.connect

    def connect_and_tell(channel: socket.socket, address: str) -> None:
        connect(channel, address)
        is_connected.set()

    monkeypatch.setattr(socket.socket, "connect", connect_and_tell)
    asking = threading.Thread(target=lambda: told.append(asked(desk, SearchRequest("quokka"))))
    asking.start()
    assert is_connected.wait(PATIENCE_S)
    daemon.end(signal.SIGKILL)
    asking.join()
    assert told == [DaemonReply(None, UNANSWERED)]


def test_a_daemon_that_hangs_is_told_with_the_answer_from_the_disk(desk: Desk) -> None:
    written(desk)
    daemon = desk.up()
    daemon.process.send_signal(signal.SIGSTOP)
    with desk.memory() as memory:
        answer = memory.search("quokka")
    assert answer.hits
    assert UNANSWERED in answer.notes
    daemon.end(signal.SIGKILL)


def test_what_another_process_notes_is_found_through_the_daemon(desk: Desk) -> None:
    written(desk)
    desk.up()
    assert desk.run("diary", "write", "the numbat digs at night").returncode == 0
    told = asked(desk, SearchRequest("numbat kind:diary")).value
    assert isinstance(told, SearchAnswer)
    assert told.hits
    assert told.notes == ()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists processes in files")
def test_many_at_once_are_answered_by_processes_that_may_be_killed(desk: Desk) -> None:
    desk.configure('[embedding]\nmodel = "off"\n')
    written(desk)
    daemon = desk.up()
    with desk.memory() as memory:
        own = cited(memory.search("quokka").hits)
    wait_until(lambda: asked_at_once(desk) == [own] * 8 and bool(answerers_of(daemon)))
    for pid in answerers_of(daemon):
        os.kill(pid, signal.SIGKILL)
    assert asked_at_once(desk) == [own] * 8
    assert daemon.end() == (0, "")


def asked_at_once(desk: Desk) -> list[list[str]]:
    with ThreadPoolExecutor(8) as threads:
        told = list(threads.map(lambda _: asked(desk, SearchRequest("quokka")).value, range(8)))
    return [cited(answer.hits) if isinstance(answer, SearchAnswer) else [] for answer in told]


def answerers_of(daemon: Daemon) -> list[int]:
    """Return the processes of a daemon that answer requests."""
    children = Path(f"/proc/{daemon.pid}/task").glob("*/children")
    pids = [int(pid) for one in children for pid in one.read_text("ascii").split()]
    return [pid for pid in pids if b"answer_processes" in Path(f"/proc/{pid}/cmdline").read_bytes()]
