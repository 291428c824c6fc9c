"""A daemon watches the folders of documents, and only those that can hold some."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.config import Config
from recollect.ingest.keeper import document_watch as documents
from recollect.ingest.keeper.document_watch import DocumentWatch
from recollect.memory import Memory
from tests.ingest.conftest import World

PATIENCE_S = 120.0


@pytest.fixture
def project(world: World) -> Path:
    folder = world.root / "project"
    for path in ("a.md", "sub/b.md", "sub/main.py", "node_modules/x/README.md", "out/c.md"):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {path}\n")
    (folder / ".gitignore").write_text("out/\n")
    world.memory.documents.add(folder, collection="shop")
    return folder


@pytest.fixture
def watch(world: World) -> Iterator[DocumentWatch]:
    watch = DocumentWatch(world.memory.home, Config(), lambda _paths: None, is_polling=False)
    yield watch
    watch.close()


def told(memory: Memory, query: str) -> list[str]:
    return sorted(hit.session_uid for hit in memory.search(f"kind:document {query}", sync=False).hits)


def test_only_folders_that_can_hold_documents_are_watched(project: Path, watch: DocumentWatch) -> None:
    watch.look()
    assert sorted(one.folder for one in watch._watcher.folders()) == [str(project), str(project / "sub")]
    assert [(place.folder, place.how) for place in watch.places()] == [(str(project), "notified")]


def test_more_folders_than_a_system_watches_are_told(
    project: Path, watch: DocumentWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MOST_FOLDERS", 2)
    (project / "third").mkdir()
    watch.look()
    assert len(watch._watcher.folders()) == 2
    assert [place.reason for place in watch.places()] == ["only the first 2 folders"]


def test_a_changed_path_is_looked_at_only_where_it_may_be_a_document(project: Path, watch: DocumentWatch) -> None:
    watch.look()
    assert watch.changed([str(project / "sub/main.py"), str(project.parent / "a.md")]) == {}
    assert watch.changed([str(project / "sub/b.md")]) == {"shop": {"sub/b.md"}}
    assert watch.changed([str(project / "gone.md")]) == {"shop": {"gone.md"}}
    assert watch.changed([str(project / "sub/.gitignore")]) == {"shop": {"sub"}}
    assert watch.changed([str(project / ".recollectignore")]) == {"shop": {""}}
    assert watch.changed([str(project)]) == {"shop": {""}}


def test_what_changes_is_found_and_what_goes_is_not(world: World, project: Path) -> None:
    noticed = threading.Event()
    keeper = world.memory.live.make_keeper(lambda _line: noticed.set())
    keeper.start()

    def until(is_so: Callable[[], bool]) -> bool:
        """Wait until something is so, as long as a slow machine may need."""
        for _ in range(int(PATIENCE_S / 0.1)):
            if is_so():
                return True
            noticed.wait(0.1)
            keeper.settle(1.0)
        return is_so()

    try:
        assert until(lambda: keeper.status().last_full_at is not None)
        (project / "a.md").write_text("# zebra\n")
        assert until(lambda: told(world.memory, "zebra") == ["document:shop/a.md"])
        (project / "new/deep").mkdir(parents=True)
        (project / "new/deep/d.md").write_text("# okapi\n")
        assert until(lambda: told(world.memory, "okapi") == ["document:shop/new/deep/d.md"])
        os.replace(project / "new/deep/d.md", project / "new/e.md")
        assert until(lambda: told(world.memory, "okapi") == ["document:shop/new/e.md"])
        (project / ".recollectignore").write_text("new/\n")
        assert until(lambda: told(world.memory, "okapi") == [])
        other = world.root / "other"
        other.mkdir()
        (other / "f.md").write_text("# quagga\n")
        with world.again() as another:
            another.documents.add(other)
        (other / "f.md").write_text("# narwhal\n")
        assert until(lambda: told(world.memory, "narwhal") == ["document:other/f.md"])
        assert keeper.status().failures == ()
    finally:
        assert keeper.stop(PATIENCE_S)
