"""Private: a secret that an agent wrote down is in no file, answer or export but the raw bytes, given on demand."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import msgspec
import pytest
import zstandard

from recollect.cli.main import run
from recollect.config import Config
from recollect.memory import ExportFormat, Memory
from recollect.model.insights.signals import SIGNAL_KINDS
from recollect.store.insights import NodeFilter
from recollect.testing.builders import ClaudeTranscript, CodexRollout
from recollect.verbs import VERBS
from tests.privacy.planted_secrets import PLANTED, SURROUNDINGS
from tests.stored import inflated

SECRETS = tuple(secret for _, secret in PLANTED.values())
FORMS: tuple[ExportFormat, ...] = ("events", "claude-jsonl", "markdown")


class Planted:
    """A memory of sessions with every planted secret in every kind of place that a transcript has."""

    def __init__(self, root: Path) -> None:
        self.home = root / "memory"
        self.env = {
            "HOME": str(root),
            "RECOLLECT_HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(root / "claude"),
            "CODEX_HOME": str(root / "codex"),
        }
        self.claude, self.codex = ClaudeTranscript(root / "claude", "one"), CodexRollout(root / "codex", "one")
        for written, _ in PLANTED.values():
            self._write(written)
        with self.open() as memory:
            report = memory.sync()
            assert sum(sum(a.redactions.values()) for a in report.agents.values()) > 5 * len(SECRETS)

    def _write(self, written: str) -> None:
        one, two = self.claude, self.codex
        one.user(f"visible {written} words")
        one.assistant(f"I saw {written}")
        long = "long output\n" * 400
        one.tool("Bash", {"command": f"run '{written}'", "env": {"note": written}}, f"{long}{written}\n{long}")
        around = "\n".join(
            SURROUNDINGS[name](written) for name in ("coloured in JSON", "JSON string", "URL-encoded", "HTML")
        )
        one.tool("Bash", {"command": "cat log"}, around)
        one.tool("Write", {"file_path": "/w/demo/.env", "content": written}, "written", is_error=True)
        one.raw(json.dumps({"type": "ai-title", "sessionId": one.session, "aiTitle": written}).encode() + b"\n")
        one.raw(json.dumps({"type": "brand-new", "sessionId": one.session, "x": [written]}).encode() + b"\n")
        one.raw(b'{"torn": ' + json.dumps(written).encode() + b"\n")
        two.turn(f"visible {written} words", f"I saw {written}")
        call = {
            "type": "function_call",
            "name": "shell",
            "call_id": "c",
            "arguments": json.dumps({"command": [written]}),
        }
        two.line("response_item", call)
        two.line("response_item", {"type": "function_call_output", "call_id": "c", "output": written})
        two.line("brand_new", {"note": written})

    def open(self) -> Memory:
        return Memory.open(self.home, config=Config(), env=self.env)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """A home that is made once; these tests only look at it."""
    return Planted(tmp_path_factory.mktemp("planted"))


_FOLDED = {kind: secret.lower().encode() for kind, (_, secret) in PLANTED.items()}


def seen_in(content: bytes) -> list[str]:
    """Return the kinds of secret that stand in `content`, in whatever case (an index may fold it)."""
    folded = content.lower()
    return [kind for kind, secret in _FOLDED.items() if secret in folded]


def test_no_file_of_the_home_holds_a_secret(planted: Planted) -> None:
    files = [path for path in planted.home.rglob("*") if path.is_file()]
    assert {path.relative_to(planted.home).parts[0] for path in files} >= {"memory.db", "archive", "index", "keys"}
    assert {str(path): seen for path in files if (seen := seen_in(path.read_bytes()))} == {}


def test_no_cell_of_the_database_holds_a_secret(planted: Planted) -> None:
    compressed = 0
    for table, cell in _cells(planted.home / "memory.db"):
        content = cell
        if (start := cell.find(zstandard.MAGIC_NUMBER.to_bytes(4, "little"))) >= 0:
            content = inflated(cell[start:])
            compressed += 1
        assert (table, seen_in(content)) == (table, [])
    assert compressed > 0


def _cells(database: Path) -> Iterator[tuple[str, bytes]]:
    db = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    for table in tables:
        for row in db.execute(f'SELECT * FROM "{table}"'):
            for cell in row:
                yield table, cell if isinstance(cell, bytes) else str(cell).encode("utf-8", "surrogatepass")
    db.close()


def test_no_digest_node_or_signal_holds_a_secret(planted: Planted) -> None:
    with planted.open() as memory:
        memory.distilling.run()
        uids = (planted.claude.uid, planted.codex.uid)
        digests = [memory.digest(uid) for uid in uids]
        signals = list(memory.distilled().signals(SIGNAL_KINDS, NodeFilter()))
        told = [*digests, *(item.node for item in memory.nodes()), *(s for item in signals for s in item.signals)]
    assert None not in digests
    assert len(told) > len(uids)
    assert [(item, seen) for item in told if (seen := seen_in(msgspec.json.encode(item)))] == []


SHOWING = [verb.name for verb in VERBS if verb.name not in ("otlp", "ui", "watch")]
"""All but those that go on until they are stopped: the receiver shows nothing, the others have tests of their own."""


@pytest.mark.parametrize("verb", SHOWING)
@pytest.mark.parametrize("is_json", [False, True], ids=["text", "json"])
def test_no_verb_shows_a_secret(
    planted: Planted,
    verb: str,
    is_json: bool,
    *,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    tmp_path: Path,
) -> None:
    for name, value in planted.env.items():
        monkeypatch.setenv(name, value)
    for arguments in _ways(planted, verb, tmp_path):
        run([verb, *arguments, *(["--json"] if is_json and verb != "parse" else [])])
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        assert out or err
        assert seen_in(out) + seen_in(err) == [], (verb, arguments)


def test_what_follows_the_memory_shows_no_secret(planted: Planted) -> None:
    with planted.open() as memory:
        memory.sync()
        events = memory.stats().events
    argv = [sys.executable, "-m", "recollect", "watch", "--since", "2000-01-01"]
    with subprocess.Popen(argv, env={**os.environ, **planted.env}, stdout=subprocess.PIPE) as following:
        assert following.stdout is not None
        lines = [following.stdout.readline() for _ in range(min(events, 100) // 2)]
        following.kill()
        lines += following.stdout.readlines()
    assert len(lines) >= 10
    assert [line for line in lines if seen_in(line)] == []


def _ways(planted: Planted, verb: str, folder: Path) -> list[list[str]]:
    """Return arguments to try a verb with: those that show the most."""
    sessions = [planted.claude.uid, planted.codex.uid]
    return {
        "up": [["--once"]],
        "export": [[uid, "--format", form, "--out", str(folder)] for uid in sessions for form in FORMS],
        "search": [["visible", "--limit", "500"], ["kind:unknown", "--limit", "500"], ["saw tool:shell"]],
        "show": [[uid, "--limit", "5000"] for uid in sessions],
        "timeline": [["--limit", "5000"]],
        "usage": [["--by", "session"]],
        "schema": [["event"]],
        "digest": [[uid] for uid in sessions],
        "resume": [[uid] for uid in sessions],
        "handoff": [[uid, "--to", "codex", "--budget", "20000"] for uid in sessions],
        "decisions": [["--state", "all", "--limit", "5000"]],
        "agents": [["--all"], ["--drift"]],
        "import": [[str(planted.claude.path)]],
        "parse": [[str(planted.claude.path)], [str(planted.codex.path)]],
    }.get(verb, [[]])


def test_no_export_but_raw_holds_a_secret(planted: Planted, tmp_path: Path) -> None:
    with planted.open() as memory:
        for uid in (planted.claude.uid, planted.codex.uid):
            for form in FORMS:
                for file in memory.maintenance.export(uid, format=form, out=tmp_path / form):
                    content = Path(file.path).read_bytes()
                    assert b"visible" in content
                    assert (form, seen_in(content)) == (form, [])


def test_a_raw_export_gives_the_secrets_back(planted: Planted) -> None:
    with planted.open() as memory:
        for one in (planted.claude, planted.codex):
            assert b"".join(memory.maintenance.export_bytes(one.uid, format="raw")) == one.path.read_bytes()
    assert len(seen_in(planted.codex.path.read_bytes())) > 0.9 * len(PLANTED)  # JSON escapes what holds line ends


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_the_home_is_private_to_its_owner(planted: Planted) -> None:
    assert stat.S_IMODE(planted.home.stat().st_mode) == 0o700
    for name in ("archive", "keys"):
        for path in (planted.home / name).rglob("*"):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_no_verb_reaches_for_a_network(planted: Planted) -> None:
    code = (
        "import sys\n"
        "def spy(event, args):\n"
        "    if event in ('socket.connect', 'socket.getaddrinfo', 'socket.bind', 'socket.sendto'):\n"
        "        sys.stderr.write(f'reached for {event} {args}\\n'); sys.stderr.flush(); import os; os._exit(9)\n"
        "sys.addaudithook(spy)\n"
        "from recollect.cli.main import run\n"
        "for argv in (['sync'], ['search', 'visible'], ['usage'], ['doctor'], ['verify'], ['stats'], ['agents']):\n"
        "    assert run(argv) == 0, argv\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **planted.env}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
