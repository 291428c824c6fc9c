"""Repositories that are excluded are not taken in; private spans are never seen; what is in the spool goes too."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from recollect.config import Config, PrivacyConfig
from recollect.erasure.selection import is_of
from recollect.memory import ForgetSelection, Memory
from recollect.model.marker import PRIVATE_MARKER
from recollect.privacy.findings import strip_private
from recollect.privacy.redact import redactor_of
from tests.erasure.forget.nowhere import holding
from tests.ingest.conftest import World, texts


@contextmanager
def excluding(world: World, *patterns: str) -> Iterator[Memory]:
    world.memory.close()
    config = msgspec.structs.replace(Config(), privacy=PrivacyConfig(exclude_repos=patterns))
    with world.again(config) as memory:
        yield memory


def test_an_excluded_repository_leaves_nothing_behind(world: World) -> None:
    hidden = world.claude("hidden", cwd="/w/clients/acme")
    hidden.user("alpha of the client")
    shown = world.claude("shown", cwd="/w/demo")
    shown.user("bravo of ours")
    with excluding(world, "acme") as memory:
        memory.sync()
        assert [s.session_uid for s in memory.sessions(sync=False).sessions] == [shown.uid]
        assert holding(memory, "alpha of") == []
        report = memory.sync()
        assert report.agents["claude"].unchanged == 2
        hidden.assistant("charlie goes on")
        memory.sync()
        assert holding(memory, "alpha of", "charlie goes") == []
        verified = memory.maintenance.verify()
        assert verified.ok, verified.defects
    with excluding(world) as memory:  # not any more: now it is read
        memory.sync()
        assert texts(list(memory.events(hidden.uid))) == ["alpha of the client", "charlie goes on"]


def test_what_was_stored_before_stays_until_a_person_forgets_it(world: World) -> None:
    one = world.claude("one", cwd="/w/clients/acme")
    one.user("delta came first")
    world.memory.sync()
    with excluding(world, "/w/clients/*") as memory:
        memory.sync()
        assert memory.session(one.uid).repo == "acme"
        (check,) = [c for c in memory.maintenance.doctor().checks if c.id == "excluded"]
        assert (check.state, "acme" in check.detail) == ("warn", True)
        memory.maintenance.forgetting.run(ForgetSelection(repo="/w/clients/*"))
        assert holding(memory, "delta came") == []


def test_only_the_lines_of_an_excluded_repository_are_left_out_of_a_shared_history(world: World) -> None:
    world.claude_home.mkdir()
    rows = [
        {"display": f"{word} said in {place}", "timestamp": 1_785_574_800_000 + n, "project": place,
         "sessionId": f"0c0c0c0c-0000-4000-8000-00000000000{n}", "pastedContents": {}}
        for n, (word, place) in enumerate([("echo", "/w/clients/acme"), ("foxtrot", "/w/demo"), ("golf", "/w/demo")])
    ]  # fmt: skip
    (world.claude_home / "history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with excluding(world, "acme") as memory:
        memory.sync()
        assert memory.sessions(sync=False).total == 2
        assert holding(memory, "echo said") == []
        verified = memory.maintenance.verify()
        assert verified.ok, verified.defects


@pytest.mark.parametrize(
    ("pattern", "repo", "root", "is_meant"),
    [
        ("acme", "acme", "/w/acme", True),
        ("ACME", "acme", "/w/acme", True),
        ("acme", "acme-tools", "/w/acme-tools", False),
        ("acme*", "acme-tools", "/w/acme-tools", True),
        ("clients/*", "acme", "/home/me/clients/acme", True),
        ("clients/*", "acme", "/home/me/clients", False),
        ("/w/*", "acme", "/w/acme/packages/api", True),
        ("/w/*", "acme", "/home/w/acme", False),
        ("**/secret/**", "x", "/a/b/secret/x", True),
        ("C:\\work\\acme", "acme", "c:/Work/acme", True),
        ("", "acme", "/w/acme", False),
    ],
)
def test_patterns_of_repositories(pattern: str, repo: str, root: str, is_meant: bool) -> None:
    assert is_of((pattern,), repo=repo, repo_root=root, cwd="") is is_meant


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <private>b</private> c", f"a {PRIVATE_MARKER} c"),
        ("<PRIVATE>b\nb</PRIVATE>", PRIVATE_MARKER),
        ("a <private>b <private>c</private> d</private> e", f"a {PRIVATE_MARKER} e"),
        ("a <private>never closed", f"a {PRIVATE_MARKER}"),
        ('a <private why="x">b</private><private>c</private>', f"a {PRIVATE_MARKER}{PRIVATE_MARKER}"),
        ("a </private> b", "a </private> b"),
        ("a <privateer> b", "a <privateer> b"),
        ("nothing", "nothing"),
    ],
)
def test_private_spans_of_a_text(text: str, shown: str) -> None:
    assert strip_private(text)[0] == shown
    assert strip_private(shown) == (shown, 0)
    assert redactor_of(bytes(32), PrivacyConfig()).redact_text(text)[0] == shown


def test_private_spans_are_nowhere_but_in_the_sealed_archive(world: World) -> None:
    one = world.claude("one")
    one.user("hotel <private>india of mine</private> juliet")
    one.tool("Bash", {"command": "echo '<private>india of mine</private>'"}, "<private>india of mine\n" * 300)
    one.assistant("I decided on kilo. <private>india of mine</private>")
    world.memory.sync()
    world.memory.distilling.run(sessions=[one.uid])
    world.memory.embedding.run()
    assert texts(list(world.memory.events(one.uid)))[0] == f"hotel {PRIVATE_MARKER} juliet"
    assert [place for place in holding(world.memory, "india of mine") if not place.startswith("chunk")] == []
    assert world.memory.search("india", sync=False).total == 0
    for form in ("events", "markdown", "nodes", "claude-jsonl"):
        exported = b"".join(world.memory.maintenance.export_bytes(one.uid, format=form))  # type: ignore[arg-type]
        assert b"india of mine" not in exported
    assert b"india of mine" in b"".join(world.memory.maintenance.export_bytes(one.uid, format="raw"))


def test_what_hooks_told_of_a_forgotten_session_leaves_the_spool(world: World) -> None:
    one = world.claude("one")
    one.user("lima by hook and by transcript")
    spool = world.memory.home / "spool"
    spool.mkdir(parents=True, mode=0o700)

    def drop(number: int, session: str, prompt: str) -> Path:
        path = spool / f"claude.claude.{number}.{number:032x}.json"
        told = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": "/w/demo", "prompt": prompt}
        path.write_text(json.dumps(told))
        os.utime(path, ns=(1_785_574_800_000_000_000 + number, 1_785_574_800_000_000_000 + number))
        return path

    other = "0d0d0d0d-0000-4000-8000-000000000009"
    drop(1, one.session, "lima by hook and by transcript")
    drop(2, other, "mike stays")
    world.memory.sync()
    assert holding(world.memory, "lima by")
    world.memory.maintenance.forgetting.run(ForgetSelection(session=one.uid))
    assert holding(world.memory, "lima by") == []
    drop(3, one.session, "lima by hook again")
    drop(4, other, "november follows")
    world.memory.sync()
    assert holding(world.memory, "lima by") == []
    assert texts(list(world.memory.events(f"claude:{other}"))) == ["mike stays", "november follows"]
