"""The page as a user has it: `recollect ui` in a process of its own, over the sample and one hostile session."""

from __future__ import annotations

import base64
import json
import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import pytest

from recollect import Memory
from recollect.agents.registry import adapters_with
from recollect.cli.first_run import lay_out
from recollect.testing.builders import ClaudeTranscript, stable_uuid
from tests import program
from tests.serve.web.lived_in import write_edits, write_notes

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PATIENCE_S = 120.0
HOSTILE_TEXT = (
    "zhostile <script>document.title='run'</script> <img src=x onerror=\"document.title='run'\"> "
    "<svg onload=\"document.title='run'\"></svg> [click](javascript:document.title='run') "
    "![pixel](http://127.0.0.1:9/pixel.png) \x1b[31mred\x1b[0m \u202etxet\u202c"
)
HOSTILE = f"claude:{stable_uuid('hostile')}"
LONG = f"claude:{stable_uuid('long')}"
LONG_TURNS = 150
ENDLESS = f"claude:{stable_uuid('endless')}"
ENDLESS_TURNS = 500
UNDONE = f"claude:{stable_uuid('undone')}"
RICH = f"claude:{stable_uuid('rich')}"
"""Has an image, a failure and its fix, an edit, a long output and a secret; the agent is still at it."""
IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SECRET = "ghp_1234567890abcdefghijklmnopqrstuvwx12"
RECORD = {
    "type": "user", "uuid": stable_uuid("rich/picture"), "parentUuid": None, "cwd": "/w/demo", "gitBranch": "main",
    "version": "2.1.230", "isSidechain": False, "timestamp": datetime.now(UTC).isoformat(),
}  # fmt: skip


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str
    data: bytes = b""


class Site:
    """`recollect ui` at work. address: with the token."""

    def __init__(self, home: Path, *, port: int = 0) -> None:
        self.home = home
        env = {**os.environ, "RECOLLECT_HOME": str(home), "HOME": str(home), "USERPROFILE": str(home)}
        self.process = program.Program("ui", "--no-open", "--json", "--port", str(port), env=env)
        self.address = str(json.loads(self.process.stdout.readline())["url"])
        self.base, _, self.token = self.address.partition("/?token=")

    def get(self, path: str, *, token: str | None = None, form: str | None = None, **headers: str) -> Answer:
        """Ask for a path, with the token unless another is given. form: posted. headers: in place of the right ones."""
        port = urlsplit(self.base).port
        named = {"host": f"127.0.0.1:{port}", "authorization": f"Bearer {self.token if token is None else token}"}
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        try:
            connection.putrequest("GET" if form is None else "POST", path, skip_host=True)
            if form is not None:
                named |= {"content-type": "application/x-www-form-urlencoded", "content-length": str(len(form))}
            for name, value in {**named, **headers}.items():
                connection.putheader(name, value)
            connection.endheaders(form.encode() if form is not None else None)
            got = connection.getresponse()
            data = got.read()
            headers = {k.lower(): v for k, v in got.getheaders()}
            return Answer(got.status, headers, data.decode("utf-8", "replace"), data)
        finally:
            connection.close()

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait()
        self.process.close()
        return code


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("page") / "memory"
    lay_out(home, adapters_with({}))
    claude = home / "sample" / "claude"
    hostile = ClaudeTranscript(claude, "hostile")
    hostile.user(HOSTILE_TEXT)
    hostile.assistant(HOSTILE_TEXT)
    hostile.tool("Bash", {"command": "echo '<b>bold</b>'"}, "<b>bold</b>\n" * 200)
    lately = datetime.now(UTC) - timedelta(days=2)
    for name, turns in (("long", LONG_TURNS), ("endless", ENDLESS_TURNS)):
        long = ClaudeTranscript(claude, name, start=lately)
        if name == "long":
            long.user("Never use tabs in this repository, please. We indent with spaces.")
        for number in range(turns):
            long.user(f"request number {number}")
            long.assistant(f"answer number {number}")
    write_rich(claude)
    undone = ClaudeTranscript(claude, "undone")
    undone.user("begin")
    kept = undone.assistant("begun")
    undone.user("what is left behind")
    undone.assistant("done so")
    undone.user("what is taken instead", parentUuid=kept)
    undone.assistant("done that")
    (home / ".claude").mkdir()  # an agent that could be set up
    write_edits(claude, home.parent / "work", f" {HOSTILE_TEXT}")
    with Memory.open(home) as memory:
        assert memory.sync().state == "done"
        write_notes(memory, home.parent / "handbook", f" {HOSTILE_TEXT}")
    running = Site(home)
    yield running
    assert running.end() == 0


def write_rich(claude: Path) -> None:
    rich = ClaudeTranscript(claude, "rich", start=datetime.now(UTC) - timedelta(minutes=1))
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}}
    svg = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>").decode()
    drawing = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": svg}}
    content = [{"type": "text", "text": "Why is this picture flat?"}, image, drawing]
    rich.raw(
        json.dumps({**RECORD, "sessionId": rich.session, "message": {"role": "user", "content": content}}).encode()
        + b"\n"
    )
    rich.tool("Bash", {"command": "pytest -q"}, "AssertionError: 1 != 2", is_error=True)
    rich.write("/w/demo/chart.py", "def chart():\n    return 2\n")
    rich.tool("Bash", {"command": "pytest -q"}, "1 passed")
    rich.tool("Bash", {"command": "cat all.log"}, "".join(f"line {number} of the log\n" for number in range(6_000)))
    rich.tool("Bash", {"command": "env"}, "nothing", toolUseResult={"stdout": f"GITHUB_TOKEN={SECRET}"})
    rich.assistant("The needle is in the haystack.")


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """A page that is logged in, and fails where the browser reports an error or asks anybody else."""
    context = browser.new_context()
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("request", lambda asked: None if asked.url.startswith(site.base) else problems.append(asked.url))
    opened.goto(site.address)
    yield opened
    context.close()
    assert problems == []
