"""The pages of the daemon: for the owner alone, on this machine alone, and nothing in them can be made to act."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.units import plural
from tests.serve.daemon.conftest import Daemon, Desk

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    root = tmp_path_factory.mktemp("web")
    desk = Desk(root)
    desk.claude_home = root / HOSTILE.replace("/", "")
    desk.env["CLAUDE_CONFIG_DIR"] = str(desk.claude_home)
    desk.claude("one").user("it begins")
    running = desk.up()
    yield running
    assert running.end() == (0, "")
    desk.close()


def test_whether_it_is_well_needs_no_token_and_says_nothing_else(daemon: Daemon) -> None:
    answer = daemon.get("/healthz")
    assert (answer.status, answer.body) == (200, b"ok\n")


@pytest.mark.parametrize("path", ["/", "/health", "/status.json", "/?token=wrong", "/status.json?token="])
def test_nothing_is_shown_without_the_token(daemon: Daemon, path: str) -> None:
    assert daemon.get(path).status == 401
    assert daemon.get(path, token="wrong").status == 401
    assert daemon.get(path, cookie="recollect-pages=wrong").status == 401


@pytest.mark.parametrize("path", ["/", "/health", "/status.json", "/healthz", "/static/app.css", "/mcp"])
def test_pages_of_others_get_nothing_even_with_the_token(daemon: Daemon, path: str) -> None:
    assert daemon.get(path, token=daemon.token, origin="https://evil.example").status == 403
    assert daemon.get(path, token=daemon.token, host="evil.example").status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
@pytest.mark.parametrize("path", ["/sessions", "/status.json", "/healthz"])
def test_nothing_can_be_changed_but_by_the_forms_of_pages(daemon: Daemon, method: str, path: str) -> None:
    assert daemon.get(path, method=method, token=daemon.token).status == 405


def test_the_status_is_what_the_program_says_of_itself(daemon: Daemon) -> None:
    answer = daemon.get("/status.json", token=daemon.token)
    assert answer.headers["content-type"] == "application/json"
    told = json.loads(answer.body)
    assert (told["pid"], told["url"]) == (daemon.pid, daemon.url)
    assert told["last_full_at"] <= told["now"]
    assert told["counters"]["full_passes"] >= 1
    assert (told["learning"]["enabled"], told["learning"]["paused"]) == (True, "")
    page = daemon.get("/health", token=daemon.token).body.decode()
    assert "<dt>learning</dt><dd>" in page
    assert "Learning is paused" not in page


def test_the_status_says_when_the_memory_was_looked_after_by_whomever(desk: Desk) -> None:
    desk.claude("one").user("it begins")
    assert desk.run("sync").returncode == 0
    desk.up()
    status = desk.status()
    assert status.last_sweep_at is not None
    assert status.last_sweep_at < status.started_at


def test_figures_are_written_for_people(daemon: Daemon) -> None:
    page = daemon.get("/health", token=daemon.token).body.decode()
    assert "<dd>0 changed paths</dd>" in page
    assert "<dd>1 event," in page or "<dd>2 events," in page
    assert (plural(1, "session"), plural(12_345, "event")) == ("1 session", "12,345 events")


def test_a_browser_is_let_in_once_and_keeps_no_token(daemon: Daemon) -> None:
    first = daemon.get(f"/?token={daemon.token}")
    assert (first.status, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert daemon.token not in cookie
    page = daemon.get("/", cookie=cookie.partition(";")[0])
    assert page.status == 200
    assert daemon.get("/mcp", cookie=cookie.partition(";")[0]).status == 401, "the cookie opens pages only"


def test_the_page_runs_nothing_of_what_it_shows(daemon: Daemon) -> None:
    page = daemon.get("/health", token=daemon.token)
    html = page.body.decode()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html, "the folder's name is shown as text"
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(("name", "kind"), [("app.css", "text/css"), ("app.js", "text/javascript")])
def test_style_and_script_are_in_the_package_and_fetch_nothing_from_elsewhere(
    daemon: Daemon, name: str, kind: str
) -> None:
    answer = daemon.get(f"/static/{name}")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith(kind)
    assert b"://" not in answer.body
    assert b"@import" not in answer.body
    assert daemon.get("/static/..%2Fpages.py").status == 404


def test_it_listens_on_the_loopback_address_only(daemon: Daemon) -> None:
    port = int(daemon.url.rpartition(":")[2])
    listening = Path("/proc/net/tcp")
    if not listening.exists():
        pytest.skip("this system does not tell who listens where")
    local = {line.split()[1] for line in listening.read_text("ascii").splitlines()[1:] if line.split()[3] == "0A"}
    assert {address for address in local if int(address.rpartition(":")[2], 16) == port} == {f"0100007F:{port:04X}"}
