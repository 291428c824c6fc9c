"""A real daemon in a process of its own, over the homes of two agents, and what asks it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from recollect import Memory
from recollect.ingest.daemon_status import LiveStatus, ask_status
from recollect.testing.builders import ClaudeTranscript
from tests import program
from tests.program import PATIENCE_S


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Desk:
    """A person's machine: agents that write, a memory, and whoever keeps it fresh."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "memory"
        self.claude_home = root / "claude"
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("RECOLLECT_", "XDG_"))},
            "HOME": str(root),
            "USERPROFILE": str(root),
            "RECOLLECT_HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.claude_home),
            "CODEX_HOME": str(root / "codex"),
        }
        self.daemons: list[Daemon] = []

    def claude(self, name: str, **options: str) -> ClaudeTranscript:
        return ClaudeTranscript(self.claude_home, name, **options)

    def configure(self, text: str) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "config.toml").write_text(text, "utf-8")

    def up(self, *arguments: str) -> Daemon:
        """Start a daemon in the foreground on a free port, and wait until it has looked at everything."""
        return self._looked(self.begin(*(arguments or ("--port", "0"))))

    def up_as_configured(self) -> Daemon:
        """The same, on the port of the configuration."""
        return self._looked(self.begin())

    def _looked(self, daemon: Daemon) -> Daemon:
        wait_until(lambda: (told := ask_status(self.home)) is not None and told.last_full_at is not None)
        return daemon

    def begin(self, *arguments: str) -> Daemon:
        """Start one and wait until it says that it has begun."""
        daemon = Daemon(self, arguments)
        self.daemons.append(daemon)
        return daemon

    def close(self) -> None:
        """Kill what still runs."""
        for daemon in self.daemons:
            daemon.process.kill()
            daemon.process.close()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return program.run_text(*arguments, env=self.env)

    def memory(self) -> Memory:
        return Memory.open(self.home, env=self.env)

    def has(self, word: str) -> bool:
        """Tell whether another process's question finds a word; it looks for no changes itself."""
        with self.memory() as memory:
            return bool(memory.search(word, sync=False).hits)

    def wait_for(self, word: str) -> None:
        wait_until(lambda: self.has(word))

    def status(self) -> LiveStatus:
        found = ask_status(self.home)
        assert found is not None
        return found


class Daemon:
    """`recollect up` as a process."""

    def __init__(self, desk: Desk, arguments: tuple[str, ...]) -> None:
        self.process = program.Program("up", "--json", *arguments, env=desk.env)
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        self.told: dict[str, Any] = json.loads(line)
        assert "pid" in self.told, (self.told, (desk.home / "logs" / "failures.log").read_text())
        self.pid = int(self.told["pid"])
        self.url = str(self.told["url"])
        self.token = Path(self.told["token_file"]).read_text("ascii").strip() if self.told["token_file"] else ""

    def get(self, path: str, *, method: str = "GET", token: str | None = None, **headers: str) -> Answer:
        """Ask for a path. headers: with underscores for hyphens, in place of the right ones."""
        port = urlsplit(self.url).port
        named = {"host": f"127.0.0.1:{port}", **{name.replace("_", "-"): value for name, value in headers.items()}}
        if token is not None:
            named["authorization"] = f"Bearer {token}"
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        try:
            connection.putrequest(method, path, skip_host=True)
            for name, value in named.items():
                connection.putheader(name, value)
            connection.endheaders()
            got = connection.getresponse()
            return Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())
        finally:
            connection.close()

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; return the exit code and what was said on standard error."""
        self.process.send_signal(number)
        _out, said = self.process.communicate()
        return self.process.wait(), said.decode()


def wait_until(is_so: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < ends, "it never came to pass"
        time.sleep(0.02)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()
