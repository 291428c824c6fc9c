"""Changes are told by whatever means a file system allows, as folders come, go and are replaced."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from recollect.capture import watch as watching
from recollect.capture.watch import FileSystems, FolderWatcher, Notified, Watched

PATIENCE_S = 120.0


class Told:
    """What a watcher told so far."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self._came = threading.Condition()

    def __call__(self, paths: Collection[str]) -> None:
        with self._came:
            self.paths.update(paths)
            self._came.notify_all()

    def wait_for(self, path: Path) -> None:
        with self._came:
            assert self._came.wait_for(lambda: str(path) in self.paths, PATIENCE_S), (path, self.paths)
            self.paths.clear()


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture(params=[False, True], ids=["notified", "polled"])
def watcher(told: Told, request: pytest.FixtureRequest) -> Iterator[FolderWatcher]:
    made = FolderWatcher(told, is_polling=request.param)
    yield made
    made.close()


def test_files_that_are_made_grow_move_and_go_are_told(watcher: FolderWatcher, told: Told, tmp_path: Path) -> None:
    deep = tmp_path / "deep" / "below"
    deep.mkdir(parents=True)
    watcher.watch([Watched(str(tmp_path / "deep"), True)])
    told.wait_for(tmp_path / "deep")  # it is new to the watcher: anything in it may be
    path = deep / "a.jsonl"
    path.write_text("one\n", "utf-8")
    told.wait_for(path)
    with path.open("a", encoding="utf-8") as file:
        file.write("two\n")
    told.wait_for(path)
    other = path.rename(deep / "b.jsonl")
    told.wait_for(other)
    other.unlink()
    told.wait_for(other)


def test_a_folder_that_comes_later_and_one_that_is_replaced_are_told(
    watcher: FolderWatcher, told: Told, tmp_path: Path
) -> None:
    folder = tmp_path / "late"
    watcher.watch([Watched(str(folder), True)])
    assert [f.how for f in watcher.folders()] == ["absent"]
    folder.mkdir()
    watcher.look()
    told.wait_for(folder)
    assert [f.how for f in watcher.folders()] != ["absent"]
    folder.rename(tmp_path / "old")
    folder.mkdir()
    watcher.look()
    told.wait_for(folder)
    (folder / "x.jsonl").write_text("x\n", "utf-8")
    told.wait_for(folder / "x.jsonl")


def test_a_folder_that_is_gone_is_absent_and_nothing_in_it_is_told(
    watcher: FolderWatcher, told: Told, tmp_path: Path
) -> None:
    folder = tmp_path / "mounted"
    folder.mkdir()
    (folder / "x.jsonl").write_text("x\n", "utf-8")
    watcher.watch([Watched(str(folder), True)])
    told.wait_for(folder)
    folder.rename(tmp_path / "elsewhere")
    watcher.look()
    assert [f.how for f in watcher.folders()] == ["absent"]
    assert str(folder / "x.jsonl") not in told.paths


def test_a_link_is_told_as_it_is_named(watcher: FolderWatcher, told: Told, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real, target_is_directory=True)
    watcher.watch([Watched(str(link), True)])
    told.wait_for(link)
    (link / "x.jsonl").write_text("x\n", "utf-8")
    told.wait_for(link / "x.jsonl")


def test_where_the_system_refuses_folders_are_polled_and_it_says_why(
    told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at the limit of inotify, which a test cannot reach without taking it from everybody."""

    class Refusing(Notified):
        def __init__(self, folders: list[str], *, is_deep: bool, changed: Callable[[Collection[str]], None]) -> None:
            if is_deep:
                raise OSError(28, "OS file watch limit reached")
            super().__init__(folders, is_deep=is_deep, changed=changed)

    monkeypatch.setattr(watching, "Notified", Refusing)
    deep, shallow = tmp_path / "deep", tmp_path / "shallow"
    for folder in (deep, shallow):
        folder.mkdir()
    made = FolderWatcher(told)
    try:
        made.watch([Watched(str(deep), True), Watched(str(shallow), False)])
        assert {Path(f.folder).name: f.how for f in made.folders()} == {"deep": "polled", "shallow": "notified"}
        assert "limit" in next(f.reason for f in made.folders() if f.how == "polled")
        told.wait_for(deep)
        (deep / "x.jsonl").write_text("x\n", "utf-8")
        told.wait_for(deep / "x.jsonl")
        (shallow / "y.jsonl").write_text("y\n", "utf-8")
        told.wait_for(shallow / "y.jsonl")
        monkeypatch.setattr(watching, "Notified", Notified)
        made.watch([Watched(str(deep), True), Watched(str(shallow), False)])
        assert {f.how for f in made.folders()} == {"notified"}, "it is tried again"
    finally:
        made.close()


def test_network_file_systems_are_polled(told: Told, tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    folder = tmp_path / "remote home"
    folder.mkdir()
    place = str(folder).replace(" ", "\\040")
    mounts.write_text(f"1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:9 / {place} rw shared:1 - nfs4 host:/x rw\n", "utf-8")
    made = FolderWatcher(told, file_systems=lambda: FileSystems(str(mounts)))
    try:
        made.watch([Watched(str(folder), True)])
        assert [f.how for f in made.folders()] == ["polled"]
    finally:
        made.close()


@pytest.mark.skipif(sys.platform == "win32", reason="mount points")
@pytest.mark.parametrize(
    ("kind", "is_remote"),
    [("ext4", False), ("nfs", True), ("cifs", True), ("9p", True), ("fuse.sshfs", True), ("fuseblk", False)],
)
def test_file_systems_are_told_by_their_kind(tmp_path: Path, kind: str, is_remote: bool) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:9 / {tmp_path} rw - {kind} x rw\n", "utf-8")
    systems = FileSystems(str(mounts))
    assert systems.is_remote(str(tmp_path / "some" / "folder")) == is_remote
    assert not systems.is_remote("/")
    assert not FileSystems(str(tmp_path / "none")).is_remote(str(tmp_path))


def test_nothing_is_told_after_the_end(told: Told, tmp_path: Path) -> None:
    made = FolderWatcher(told)
    made.watch([Watched(str(tmp_path), True)])
    made.close()
    told.paths.clear()
    (tmp_path / "x").write_text("x", "utf-8")
    assert told.paths == set()
