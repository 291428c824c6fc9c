"""What is watched covers whatever discovery would find, and a changed path leads to the sources it may be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.agents.registry import adapters
from recollect.capture.discover import discover, roots_of
from recollect.capture.scope import Scope
from recollect.capture.watch import WatchPlan
from recollect.config import AgentConfig, Config, IngestConfig

ADAPTERS = list(adapters().values())


def plan_of(root: Path, config: Config | None = None, *, repositories: tuple[str, ...] = ()) -> WatchPlan:
    env = {"HOME": str(root), "USERPROFILE": str(root), "RECOLLECT_HOME": str(root / "memory")}
    return WatchPlan(ADAPTERS, config or Config(), env, repositories=repositories, home=str(root / "memory"))


def example_of(pattern: str) -> str:
    """Return a path that a pattern matches."""
    return pattern.replace("**", "a/b").replace("[0-9]*", "1x").replace("*", "x").replace("?", "x")


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda a: a.facts.slug)
def test_every_file_that_discovery_finds_lies_in_a_watched_folder_and_leads_back_to_it(
    adapter: object, tmp_path: Path
) -> None:
    """By the declared patterns alone: a file for each of them, below the first root of its agent."""
    facts = adapter.facts  # type: ignore[attr-defined]
    repositories = (str(tmp_path / "repo"),) if facts.is_per_repository else ()
    plan = plan_of(tmp_path, repositories=repositories)
    env = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "RECOLLECT_HOME": str(tmp_path / "memory")}
    roots = [*(r.path for r in roots_of(adapter, Config(), env)), *repositories]  # type: ignore[arg-type]
    if facts.is_import_only or not roots:
        pytest.skip("has no folder of its own")
    for place in facts.places:
        for pattern in place.patterns:
            path = os.path.join(roots[0], *example_of(pattern).split("/"))
            above = {str(folder) for folder in Path(path).parents}
            deep = {w.folder for w in plan.folders if w.is_deep}
            shallow = {w.folder for w in plan.folders}
            assert above & deep or os.path.dirname(path) in shallow, path
            scope = plan.scope_of([path])
            assert scope is not None, path
            assert facts.slug in scope.agents
            assert scope.covers(path)


def test_a_confined_discovery_finds_exactly_its_part(tmp_path: Path) -> None:
    claude = next(a for a in ADAPTERS if a.facts.slug == "claude")
    folder = tmp_path / ".claude" / "projects"
    names = [folder / project / f"{session}.jsonl" for project in ("a", "b") for session in ("one", "two")]
    for path in names:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n", "utf-8")
    (folder / "a" / "notes.txt").write_text("no source", "utf-8")
    env = {"HOME": str(tmp_path)}
    roots = roots_of(claude, Config(), env)

    def found(*paths: Path) -> set[str]:
        scope = Scope(map(str, paths), agents=("claude",))
        result = discover(claude, roots, known_roles={}, read_head=lambda _path: b"", scope=scope)
        return {source.path for source in result.sources}

    assert found(names[0]) == {str(names[0])}
    assert found(folder / "a") == {str(names[0]), str(names[1])}
    assert found(tmp_path) == {str(path) for path in names}
    assert found(folder / "a" / "notes.txt", folder / "nowhere" / "x.jsonl") == set()


def test_a_database_that_a_variable_names_is_watched_and_not_what_lies_below_its_folder(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "OPENCODE_DB": str(tmp_path / "kept" / "chats.sqlite")}
    plan = WatchPlan(ADAPTERS, Config(), env, home=str(tmp_path / "memory"))
    assert [(w.is_deep, w.agents) for w in plan.folders if w.folder == str(tmp_path / "kept")] == [
        (False, ("opencode",))
    ]
    scope = plan.scope_of([f"{tmp_path / 'kept' / 'chats.sqlite'}-wal"])
    assert scope is not None
    assert scope.covers(str(tmp_path / "kept" / "chats.sqlite"))
    assert plan.scope_of([str(tmp_path / "kept" / "notes.txt")]) is None


def test_what_sqlite_writes_beside_a_database_is_a_change_of_it(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    database = tmp_path / ".cursor" / "chats" / "a" / "b" / "store.db"
    for suffix in ("", "-wal", "-shm", "-journal"):
        scope = plan.scope_of([f"{database}{suffix}"])
        assert scope is not None
        assert scope.paths == {str(database)}


def test_a_part_of_a_document_leads_to_its_whole_folder(tmp_path: Path) -> None:
    root = tmp_path / ".local" / "share" / "opencode"
    scope = plan_of(tmp_path).scope_of([str(root / "storage" / "part" / "m" / "p.json")])
    assert scope is not None
    assert str(root) in scope.paths


def test_a_new_folder_is_looked_into_and_a_stray_file_is_not(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    folder = tmp_path / ".claude" / "projects" / "new"
    folder.mkdir(parents=True)
    stray = tmp_path / ".claude" / "settings.json"
    stray.write_text("{}", "utf-8")
    scope = plan.scope_of([str(folder)])
    assert scope is not None
    assert scope.covers(str(folder / "session.jsonl"))
    assert plan.scope_of([str(stray)]) is None


def test_the_memory_does_not_watch_itself_but_its_spool(tmp_path: Path) -> None:
    config = Config(ingest=IngestConfig(folders=(str(tmp_path),)))
    plan = plan_of(tmp_path, config)
    spool = tmp_path / "memory" / "spool"
    spool.mkdir(parents=True)
    drop = spool / "claude.claude.1.aa.json"
    assert plan.scope_of([str(tmp_path / "memory" / "memory.db-wal")]) is None
    assert plan.scope_of([str(drop)]) is None, "it was taken out"
    drop.write_bytes(b"{}")
    scope = plan.scope_of([str(drop)])
    assert scope is not None
    assert scope.takes_spool
    assert plan.scope_of([str(spool / "hooks" / "claude" / "x.hooks.jsonl")]) is None, "written by ourselves"


def test_folders_that_a_person_names_are_watched_whole(tmp_path: Path) -> None:
    config = Config(
        agents={"claude": AgentConfig(roots=(str(tmp_path / "old"),))},
        ingest=IngestConfig(folders=(str(tmp_path / "mixed"),)),
    )
    plan = plan_of(tmp_path, config)
    deep = {w.folder for w in plan.folders if w.is_deep}
    assert {str(tmp_path / "old"), str(tmp_path / "mixed")} <= deep
    scope = plan.scope_of([str(tmp_path / "mixed" / "some" / "thing.jsonl")])
    assert scope is not None
    assert scope.agents == {a.facts.slug for a in ADAPTERS}
