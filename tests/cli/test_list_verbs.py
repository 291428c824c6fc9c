"""Every verb that lists gives one shape: an object with a list under the name of what is listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest

from recollect.cli.commands.config import result_types, schema_of
from recollect.cli.main import group

Recollect = Callable[..., Any]

LISTS: dict[tuple[str, ...], tuple[str, str]] = {
    ("actions", "list"): ("actions", "actions"),
    ("agents",): ("agents", "agents"),
    ("context", "log"): ("context-shown", "blocks"),
    ("decisions", "list"): ("decisions", "decisions"),
    ("diary", "read"): ("diary", "entries"),
    ("docs", "list"): ("docs", "collections"),
    ("docs", "refresh"): ("docs-refresh", "reports"),
    ("doctor",): ("doctor", "checks"),
    ("facts", "contradictions"): ("facts-contradictions", "contradictions"),
    ("facts", "list"): ("facts", "facts"),
    ("learnings", "held-back"): ("learnings-held-back", "texts"),
    ("learnings", "list"): ("learnings", "learnings"),
    ("pin",): ("pin", "pins"),
    ("search",): ("search", "hits"),
    ("sessions",): ("sessions", "sessions"),
    ("tag",): ("tag", "tags"),
    ("timeline",): ("timeline", "entries"),
    ("usage",): ("usage", "rows"),
}
"""Of a command that lists: the name of its schema, and that of its list."""
WORDS = {("search",): ("webhook",)}
AS_OPTIONS: dict[tuple[str, ...], tuple[str, str]] = {
    ("agents", "--drift"): ("", "drift"),
    ("forget", "--list"): ("forget-list", "groups"),
    ("help",): ("", "topics"),
    ("reveal", "--log"): ("reveal-log", "entries"),
    ("schema",): ("", "schemas"),
    ("undo", "--list"): ("undo-list", "batches"),
}
"""Commands of another purpose that list when they are asked to."""
OF_SOMETHING = {
    ("conformance",), ("docs", "show"), ("export",), ("reveal",), ("setup",), ("show",), ("team", "audit"),
    ("team", "members"),
}  # fmt: skip
"""Those that list what belongs to one thing that they must be given; each has a test of its own."""
OTHERS = {
    *((verb,) for verb in (
        "backup", "blame", "config", "digest", "embed", "evict", "exclude", "forget", "handoff", "help", "hook",
        "import", "mcp", "otlp", "rebuild", "redact", "repair", "restore", "resume", "retro", "schema", "sync",
        "sync-folder", "tui",
        "ui", "undo",
        "up", "verify")),
    *(("actions", verb) for verb in ("add", "done")),
    *(("context", verb) for verb in ("init", "show")),
    *(("decisions", verb) for verb in ("add",)),
    *(("diary", verb) for verb in ("write",)),
    *(("docs", verb) for verb in ("add", "remove")),
    *(("facts", verb) for verb in ("add", "end", "export", "means", "replace", "retract", "seed")),
    *(("keys", verb) for verb in ("move", "rotate", "status")),
    *(("learnings", verb) for verb in ("add", "ask", "confirm", "correct", "retire", "run", "show", "status", "why")),
    *(("service", verb) for verb in ("install", "remove", "status")),
    *(("team", verb) for verb in (
        "grant", "import", "init", "invite", "join", "leave", "migrate", "push", "retention", "revoke", "serve",
        "share", "status")),
    *(("stats", verb) for verb in ("overview", "recall", "sessions", "storage")),
}  # fmt: skip
LINES = {("parse",), ("replay",), ("watch",)}
"""Those that give one JSON object a line."""


def commands() -> Iterator[tuple[str, ...]]:
    """Yield every command that takes --json, as the words that name it."""
    yield from _below(group, ())


def _below(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), name)
            assert found is not None
            yield from _below(found, (*words, name))
    elif any("--json" in option.opts for option in command.params):
        yield words


def test_of_every_command_is_said_whether_it_lists() -> None:
    assert set(commands()) == {*LISTS, *OF_SOMETHING, *OTHERS, *LINES}


@pytest.fixture
def written(history: Path, recollect: Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill this user's memory with the sample, and write down one thing of each kind that people do."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/notes.md").write_text("# Queue\n\nIt holds jobs.\n", "utf-8")
    assert recollect("sync").code == 0
    uid = recollect("sessions", "--limit", "1", "--json").data["sessions"][0]["session_uid"]
    for argv in (
        ("actions", "add", "Rotate the staging key"), ("learnings", "add", "Docker is needed by the tests"),
        ("decisions", "add", "Use SQLite", "--chosen", "SQLite"), ("diary", "write", "A quiet day."),
        ("docs", "add", "pages"), ("facts", "add", "shop", "runs on", "Postgres"), ("pin", uid),
        ("tag", uid, "release"), ("reveal", uid, "--yes"),
    ):  # fmt: skip
        assert recollect(*argv).code == 0, argv


def shape(recollect: Recollect, argv: tuple[str, ...]) -> tuple[str, Any]:
    schema, name = LISTS.get(argv) or AS_OPTIONS[argv]
    data = recollect(*argv, *WORDS.get(argv, ()), "--json").data
    assert isinstance(data, dict)
    assert isinstance(data[name], list)
    if schema:
        jsonschema.Draft202012Validator(schema_of(result_types()[schema])).validate(data)
    return name, data


def test_every_verb_that_lists_gives_an_object_with_a_named_list(written: None, recollect: Recollect) -> None:
    empty = {("agents", "--drift"), ("facts", "contradictions"), ("forget", "--list"), ("learnings", "held-back"),
             ("context", "log")}  # fmt: skip
    for argv in (*LISTS, *AS_OPTIONS):
        name, data = shape(recollect, argv)
        assert data[name] or argv in empty, argv


def test_an_empty_memory_gives_the_same_shape(isolated_home: Path, demo: Path, recollect: Recollect) -> None:
    for argv in (*LISTS, *AS_OPTIONS):
        _, before = shape(recollect, argv)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("RECOLLECT_HOME", str(demo))
            _, filled = shape(recollect, argv)
        assert before.keys() == filled.keys(), argv
