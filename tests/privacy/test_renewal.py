"""After the detectors or the configuration's patterns changed: what was in sight is in sight nowhere any more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import apsw
import msgspec
import pytest
import zstandard

from recollect.config import Config, PrivacyConfig, RetentionConfig, SecretPatternConfig
from recollect.memory import Memory
from recollect.model.insights.signals import SIGNAL_KINDS
from recollect.privacy import redact
from recollect.privacy.detectors import DEFAULT
from recollect.store.erasure.redact_rows import RedactionWriter
from recollect.store.insights import NodeFilter
from recollect.testing.builders import ClaudeTranscript, CodexRollout
from tests.privacy.planted_secrets import PLANTED, kinds_in
from tests.stored import inflated

SECRET = "acme-7qx2lm9zt4vw8rb3kd6h"
"""A key of a house whose keys only its own pattern tells."""
OWN = PrivacyConfig(patterns=(SecretPatternConfig(name="acme_key", pattern="acme-[0-9a-z]{20}"),))
BIG = "output line\n" * 400


class Home:
    """A memory with the secret in every place that derived things are made of."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "memory"
        self.env = {"HOME": str(root), "CLAUDE_CONFIG_DIR": str(root / "claude"), "CODEX_HOME": str(root / "codex")}
        self.one = ClaudeTranscript(root / "claude", "one")
        self.two = CodexRollout(root / "codex", "two")
        self._write(self.one, SECRET)
        self.two.turn(f"does {SECRET} work in the shop", f"yes, {SECRET} works")

    @staticmethod
    def _write(one: ClaudeTranscript, secret: str) -> None:
        one.user(f"Let's go with {secret} for the shop. Never use the old one again.")
        one.assistant(f"Decision: we use {secret} because the old one is gone.")
        one.tool("Bash", {"command": f"curl -H 'X-House: {secret}' h"}, f"{BIG}{secret}\n{BIG}", is_error=True)
        one.write(f"/w/demo/{secret}/notes.md", f"the key is {secret}\n{BIG}")
        one.raw(json.dumps({"type": "ai-title", "sessionId": one.session, "aiTitle": f"Use {secret}"}).encode() + b"\n")
        one.raw(json.dumps({"type": "brand-new", "sessionId": one.session, secret: [secret]}).encode() + b"\n")
        one.raw(b'{"torn": "' + secret.encode() + b"\n")
        one.user("thanks, and goodbye")
        one.assistant(f"done with {secret}")

    def open(self, privacy: PrivacyConfig, **settings: object) -> Memory:
        config = msgspec.convert(
            {"privacy": msgspec.to_builtins(privacy), "distill": {"idle_seconds": 0}, **settings}, Config
        )
        return Memory.open(self.folder, config=config, env=self.env)

    def take_in(self, privacy: PrivacyConfig) -> list[str]:
        """Take everything in, distil, embed, and have blocks ready; return the notes."""
        with self.open(privacy) as memory:
            report = memory.sync()
            memory.distilling.run()
            memory.embedding.run()
            memory.ready().make()
        return report.notes

    def said(self, privacy: PrivacyConfig) -> str:
        """Return everything that the memory says of what is stored, without looking at anything new."""
        with self.open(privacy) as memory:
            sessions = memory.sessions(limit=100, sync=False).sessions
            told: list[object] = list(sessions)
            for session in sessions:
                told += list(memory.events(session.session_uid))
                told.append(memory.digest(session.session_uid))
            told += [item.node for item in memory.nodes()]
            told += [s for item in memory.distilled().signals(SIGNAL_KINDS, NodeFilter()) for s in item.signals]
            told += memory.search("key", sync=False, limit=100).hits
        return b"\n".join(map(msgspec.json.encode, told)).decode()

    def finds(self, privacy: PrivacyConfig, query: str) -> int:
        with self.open(privacy) as memory:
            return len(memory.search(query, sync=False, limit=50).hits)

    def holding(self, secret: str = SECRET) -> list[str]:
        """Return the files of the home that hold a secret, and the tables with a cell that does, compressed or not."""
        word = secret.lower().encode()
        files = [p for p in self.folder.rglob("*") if p.is_file()]
        found = [str(p.relative_to(self.folder)) for p in files if word in p.read_bytes().lower()]
        return found + [table for table, cell in self._cells() if word in cell.lower()]

    def _cells(self) -> Iterator[tuple[str, bytes]]:
        db = apsw.Connection(str(self.folder / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
        for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            for row in db.execute(f'SELECT * FROM "{table}"'):
                for cell in row:
                    data = cell if isinstance(cell, bytes) else str(cell).encode("utf-8", "surrogatepass")
                    if (at := data.find(zstandard.MAGIC_NUMBER.to_bytes(4, "little"))) >= 0:
                        data += inflated(data[at:])
                    yield table, data
        db.close()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_a_new_pattern_takes_the_secret_out_of_everything_that_is_derived(home: Home) -> None:
    home.take_in(PrivacyConfig())
    assert SECRET in home.said(PrivacyConfig())
    assert home.finds(PrivacyConfig(), SECRET)
    notes = home.take_in(OWN)
    assert any("redacted anew" in note for note in notes)
    assert home.holding() == []
    said = home.said(OWN)
    assert SECRET not in said
    assert "acme_key" in kinds_in(said)
    assert home.finds(OWN, SECRET) == home.finds(OWN, SECRET.split("-")[1]) == 0
    assert home.finds(OWN, "goodbye") == 1
    assert home.take_in(OWN) == home.take_in(OWN)  # and nothing is left to do
    with home.open(OWN) as memory:
        assert memory.maintenance.verify().ok
        assert b"".join(memory.maintenance.export_bytes(home.one.uid, format="raw")) == home.one.path.read_bytes()


def test_a_session_is_not_called_after_a_secret_of_which_its_name_has_only_a_part(home: Home) -> None:
    home.one.path.unlink()
    long = ClaudeTranscript(home.root / "claude", "three")
    long.user(f"{'Move the address of the box into the settings. ' * 2}And then take {SECRET} for it")
    long.assistant("ok")
    half = f"take {SECRET[:9]}"
    home.take_in(PrivacyConfig())
    assert half in home.said(PrivacyConfig())
    home.take_in(OWN)
    assert half not in home.said(OWN)
    assert home.holding(half) == []


def test_better_detectors_find_what_older_ones_missed(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    written, secret = PLANTED["discord"]
    home.one.user(f"the bot has {written}")
    with monkeypatch.context() as before:
        before.setattr(redact, "DEFAULT", tuple(d for d in DEFAULT if d.kind != "discord_token"))
        before.setattr(redact, "DETECTOR_VERSION", 1)
        redact.redactor_of.cache_clear()
        home.take_in(PrivacyConfig())
        assert secret in home.said(PrivacyConfig())
    redact.redactor_of.cache_clear()
    home.take_in(PrivacyConfig())
    assert home.holding(secret) == []
    assert "discord_token" in kinds_in(home.said(PrivacyConfig()))


def test_what_is_allowed_can_be_read_again(home: Home) -> None:
    home.take_in(OWN)
    assert home.holding() == []
    allowed = PrivacyConfig(patterns=OWN.patterns, allow=("acme-7.*",))
    home.take_in(allowed)
    assert SECRET in home.said(allowed)
    assert home.finds(allowed, SECRET)


def test_an_older_revision_is_redacted_too(home: Home) -> None:
    first = ClaudeTranscript(home.root / "claude", "three")
    first.user(f"first version with {SECRET}")
    first.assistant("well")
    home.take_in(PrivacyConfig())
    first.path.unlink()
    again = ClaudeTranscript(home.root / "claude", "three")
    again.user("second version of it")
    again.assistant("better")
    home.take_in(PrivacyConfig())
    home.take_in(OWN)
    assert home.holding() == []


def test_what_an_evicted_session_left_is_redacted_where_it_stands(home: Home) -> None:
    home.take_in(PrivacyConfig())
    bounds = RetentionConfig(raw_soft_cap_bytes=0, raw_max_age_days="never")
    with home.open(PrivacyConfig(), retention=msgspec.to_builtins(bounds)) as memory:
        assert memory.maintenance.retention.evict().sessions
    assert SECRET in home.said(PrivacyConfig())
    home.take_in(OWN)
    assert home.holding() == []
    said = home.said(OWN)
    assert SECRET not in said
    assert "acme_key" in kinds_in(said)


class Killed(BaseException):
    """Stands for the end of the process at a place."""


@pytest.mark.parametrize("place", ["begun", "derived", "redacted"])
def test_a_renewal_that_was_killed_is_finished_by_the_next_sync(
    home: Home, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.take_in(PrivacyConfig())

    def killed(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        if place == "begun":
            patched.setattr("recollect.ingest.rebuild.rederive_stale", killed)
        elif place == "derived":
            patched.setattr(RedactionWriter, "redact_again", killed)
        else:
            patched.setattr("recollect.ingest.rebuild.rebuild_index_of", killed)
        with pytest.raises(Killed), home.open(OWN) as memory:
            memory.sync()
    home.take_in(OWN)
    assert home.holding() == []
    assert home.finds(OWN, SECRET) == 0


def test_a_refresh_on_read_leaves_a_large_renewal_to_a_sync(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.take_in(PrivacyConfig())
    monkeypatch.setattr("recollect.ingest.operations.REFRESH_BYTES", 100)
    with home.open(OWN) as memory:
        notes = memory.refresh()
    assert any("run `recollect sync`" in note for note in notes)
    home.take_in(OWN)
    assert home.holding() == []
