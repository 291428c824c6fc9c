"""No verb answers a question about a name that nobody knows with "nothing found": it names the nearest."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from recollect.cli.main import group
from recollect.memory import Memory

Recollect = Callable[..., Any]

WRITES = {
    ("actions", "add"), ("decisions", "add"), ("diary", "write"), ("facts", "add"), ("facts", "replace"),
    ("learnings", "add"), ("team", "import"),
}  # fmt: skip
"""They may name a repository that nothing is known of yet."""
CHANGES = {("forget",), ("facts", "seed")}
"""They take only whole names."""
ARGUMENTS = {("search",): ("webhook",), ("retro",): ("--since", "2026-01-01"),
             ("stats", "sessions"): ("--since", "2026-01-01"), ("export",): ("--out", "exported")}  # fmt: skip


def with_option(name: str) -> Iterator[tuple[str, ...]]:
    """Yield every command that has an option, as the words that name it."""
    waiting: list[tuple[click.Command, tuple[str, ...]]] = [(group, ())]
    while waiting:
        command, words = waiting.pop()
        if isinstance(command, click.Group):
            context = click.Context(command)
            for below in command.list_commands(context):
                found = command.get_command(context, below)
                assert found is not None
                waiting.append((found, (*words, below)))
        elif any(name in option.opts for option in command.params):
            yield words


@pytest.mark.parametrize("command", sorted(set(with_option("--repo")) - WRITES - {("forget",)}), ids=" ".join)
def test_every_verb_names_the_repository_that_is_nearest(
    command: tuple[str, ...], filled: Path, recollect: Recollect
) -> None:
    done = recollect(*command, *ARGUMENTS.get(command, ()), "--repo", "shp-api")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("recollect: no repository called 'shp-api'; did you mean shop-api?\n")
    assert "`recollect sync` ingests new ones" in done.err


@pytest.mark.parametrize(
    "command",
    sorted(set(with_option("--repo")) - WRITES - CHANGES),
    ids=" ".join,
)
def test_every_verb_takes_a_part_of_a_repository_s_name(
    command: tuple[str, ...], filled: Path, recollect: Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    whole, part = (recollect(*command, *ARGUMENTS.get(command, ()), "--repo", name) for name in ("shop-api", "HOP-A"))
    assert part.code == whole.code in (0, 1), part


@pytest.mark.parametrize("command", sorted(set(with_option("--repo")) - WRITES - {("forget",)}), ids=" ".join)
def test_the_repository_in_which_one_works_may_be_new(
    command: tuple[str, ...], filled: Path, recollect: Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bakery/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "bakery")
    done = recollect(*command, *ARGUMENTS.get(command, ()), "--repo", "bakery")
    assert done.code in (0, 1)
    assert "no repository" not in done.out + done.err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("search", "webhook repo:shp-api"), "no repository called 'shp-api'; did you mean shop-api?"),
        (("search", "webhook -repo:shp-api"), "did you mean shop-api?"),
        (("search", "webhook branch:mian"), "did you mean main?"),
        (("search", "webhook tool:bsh"), "no tool called 'bsh'; did you mean Bash?"),
        (("search", "webhook kind:tool_resul"), "did you mean tool_result"),
        (("search", "webhook", "--kind", "tool_resul"), "did you mean tool_result"),
        (("search", "webhook tag:relaese"), "no tag called 'relaese'; did you mean release?"),
        (("search", "webhook session:claude:nope"), "no session called 'claude:nope'"),
        (("tag", "--list", "relaese"), "no tag called 'relaese'; did you mean release?"),
        (("timeline", "--session", "claude:nope"), "no session called 'claude:nope'"),
        (("context", "log", "--session", "claude:nope"), "no session called 'claude:nope'"),
        (("decisions", "--session", "claude:nope"), "no session called 'claude:nope'"),
        (("diary", "--session", "claude:nope"), "no session called 'claude:nope'"),
        (("export", "claude:nope"), "no session called 'claude:nope'"),
        (("pin", "claude:nope"), "no session called 'claude:nope'"),
        (("forget", "--session", "claude:nope", "--yes"), "no session called 'claude:nope'"),
        (("learnings", "show", "l00nope"), "no learning called 'l00nope'"),
        (("actions", "done", "l00nope"), "no learning called 'l00nope'"),
        (("undo", "bnope"), "no batch called 'bnope'"),
        (("facts", "retract", "fnope"), "no fact called 'fnope'"),
        (("search", "queue collection:pags"), "no collection called 'pags'; did you mean pages?"),
        (("docs", "show", "pags"), "no collection called 'pags'; did you mean pages?"),
        (("docs", "refresh", "pags"), "no collection called 'pags'; did you mean pages?"),
        (("docs", "remove", "pags"), "no collection called 'pags'; did you mean pages?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_name_that_nobody_knows_is_a_wrong_request(
    argv: tuple[str, ...], said: str, written: None, recollect: Recollect
) -> None:
    done = recollect(*argv)
    assert (done.code, done.out) == (2, ""), done
    assert said in done.err.splitlines()[0]


@pytest.fixture(scope="module")
def noted(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the sample's home in which a session has a tag, and there is a collection."""
    home = tmp_path_factory.mktemp("noted") / "home"
    shutil.copytree(demo, home)
    pages = home.parent / "pages"
    pages.mkdir()
    (pages / "notes.md").write_text("# Queue\n", "utf-8")
    with Memory.open(home, env={"HOME": str(home)}) as memory:
        memory.notes.tag(memory.sessions(sync=False).sessions[0].session_uid, ["release"])
        memory.documents.add(pages)
    return home


@pytest.fixture
def written(noted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make it the user's for this test."""
    monkeypatch.setenv("RECOLLECT_HOME", str(noted))


def test_a_search_can_be_confined_to_a_collection(written: None, recollect: Recollect) -> None:
    hits = recollect("search", "queue collection:Pages", "--json").data["hits"]
    assert [hit["session_uid"] for hit in hits] == ["document:pages/notes.md"]
    assert recollect("search", "queue -collection:pages kind:document").code == 1


def test_forget_refuses_a_repository_that_nobody_knows(written: None, recollect: Recollect) -> None:
    for option in ("--yes", "--dry-run"):
        done = recollect("forget", "--repo", "shp-api", option)
        assert done.code == 2
        assert "no repository called 'shp-api'; did you mean shop-api?" in done.err


def test_an_unknown_name_is_an_error_in_json_too(filled: Path, recollect: Recollect) -> None:
    done = recollect("sessions", "--repo", "shp-api", "--json")
    assert (done.code, done.err) == (2, "")
    assert done.data["error"]["code"] == "unknown_name"
    assert "did you mean shop-api?" in done.data["error"]["message"]


def test_a_repository_that_comes_in_with_the_question_is_known(history: Path, recollect: Recollect) -> None:
    assert recollect("search", "webhook repo:shop-api").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("show", "codex:01a"), ("digest", "01a"), ("resume", "codex:01a"), ("handoff", "codex:01a", "--to", "codex"),
        ("timeline", "--session", "codex:01a"), ("decisions", "--session", "codex:01a"), ("export", "codex:01a"),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_a_beginning_that_several_sessions_have_is_told_from_one_that_none_has(
    filled: Path, recollect: Recollect, words: tuple[str, ...]
) -> None:
    several = recollect(*words)
    agent_alone = recollect(*("codex:" if "01a" in word else word for word in words))
    assert (agent_alone.code, "several sessions begin like" in agent_alone.err) == (2, True)
    assert (several.code, several.out) == (2, "")
    assert "several sessions begin like" in several.err
    assert several.err.splitlines()[-1] == "hint: write more of it"
    none = recollect(*(word.replace("01a", "zzz") for word in words))
    assert "several" not in none.err
    assert none.code == (1 if words[0] == "digest" else 2)
