"""What Recollect writes as a whole file is old or new after every fault, and survives a loss of power if it must last.

Which modules write, and with which promise, is proved complete by tests/architecture/test_file_writes.py.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from recollect.archive import keys
from recollect.archive.packs import ChunkPlace, Condition
from recollect.errors import RecollectError
from recollect.index.text.engine import note_making
from recollect.index.vectors.files import EmbedderIdentity, Files, Generation
from recollect.ingest.spooled_events import Rejects, _write_taking
from recollect.maintenance.backup.manifest import BackupManifest, LastBackup, remember, write_manifest
from recollect.maintenance.setup.agent_settings import read_settings, replace_settings
from recollect.recall.context.person_files import PersonFile, begin
from recollect.serve.token import home_token
from recollect.store.sinks import LinesSink

pytestmark = pytest.mark.skipif(os.name == "nt", reason="folders are synced on POSIX systems")


class _Value(msgspec.Struct):
    value: str = "new"


def _put_aside(folder: Path) -> None:
    (folder / "drop").write_bytes(b"")
    aside = Rejects(str(folder), now_us=0)
    aside.take(str(folder / "drop"), "empty")
    aside.close()


def _enforce(folder: Path) -> None:
    files = Files(folder, EmbedderIdentity("m", "1", 1))
    files.folder.mkdir(exist_ok=True)
    files.enforce(Generation(files.folder / "g1", 2, False))


def _write_lines(folder: Path) -> None:
    sink = LinesSink(folder / "lines")
    try:
        sink.write((), {"a": len(list(folder.iterdir()))})
    finally:
        sink.close()


WRITERS: dict[str, Callable[[Path], object]] = {
    "archive/packs.py": lambda folder: Condition(folder).set_damaged(add=[ChunkPlace(b"x", 1, 0, 1, 1)]),
    "archive/keys.py": lambda folder: keys.replace(folder / "data.key", _Value()),
    "archive/keys.py, new": lambda folder: keys.publish_once(folder / "wrapping.key", _Value()),
    "index/text/engine.py": lambda folder: note_making(folder, ["2026-01"]),
    "index/vectors/files.py": _enforce,
    "ingest/spooled_events.py": _put_aside,
    "ingest/spooled_events.py, what is about to be appended": lambda folder: _write_taking(str(folder), []),
    "recall/context/person_files.py": lambda folder: begin([PersonFile("soul.md", str(folder / "soul.md"))]),
    "serve/token.py": home_token,
    "store/sinks.py": _write_lines,
    "maintenance/backup/manifest.py, last": lambda folder: remember(folder, LastBackup("b", 1)),
    "maintenance/backup/manifest.py": lambda folder: write_manifest(
        folder, BackupManifest(1, "1", 1, "h", 1, "included", True, 0, 0, 0, 0, ())
    ),
    "maintenance/setup/agent_settings.py": lambda folder: replace_settings(
        read_settings(str(folder / "settings.json")), b"new"
    ),
}
"""What must last: by module, how one of its files is written in a folder."""


@pytest.fixture(params=WRITERS)
def write(request: pytest.FixtureRequest) -> Callable[[Path], object]:
    return WRITERS[request.param]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Return what is synced and renamed, in order, each with the inode of the file or folder."""
    found: list[tuple[str, int]] = []
    real = {name: getattr(os, name) for name in ("fsync", "replace", "link")}

    def fsync(descriptor: int) -> None:
        info = os.fstat(descriptor)
        found.append(("folder" if stat.S_ISDIR(info.st_mode) else "file", info.st_ino))
        real["fsync"](descriptor)

    def rename(name: str) -> Callable[[str, str], None]:
        def renamed(source: str, target: str) -> None:
            found.append(("name", os.stat(source).st_ino))
            found.append(("in", os.stat(os.path.dirname(os.path.abspath(target))).st_ino))
            real[name](source, target)

        return renamed

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", rename("replace"))
    monkeypatch.setattr(os, "link", rename("link"))
    return found


def test_what_must_last_is_synced_before_it_has_its_name_and_its_folder_after(
    tmp_path: Path, write: Callable[[Path], object], steps: list[tuple[str, int]]
) -> None:
    write(tmp_path)
    named = [at for at, (kind, _) in enumerate(steps) if kind == "name"]
    assert named
    for at in named:
        assert ("file", steps[at][1]) in steps[:at]
        assert ("folder", steps[at + 1][1]) in steps[at:]


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder but for locks and what grows."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".lock" and path.name not in ("drop", "lines")
    }


def write_on_a_full_disk(write: Callable[[Path], object], folder: Path, step: str) -> None:
    """Write while one kind of step finds no room. A new file is linked where another is replaced."""

    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as patch, suppress(OSError, RecollectError):
        for name in ("replace", "link") if step == "replace" else (step,):
            patch.setattr(os, name, fail)
        write(folder)


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_full_disk_at_any_step_of_a_first_write_leaves_nothing(
    tmp_path: Path, write: Callable[[Path], object], step: str
) -> None:
    write_on_a_full_disk(write, tmp_path, step)
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_full_disk_at_any_step_leaves_the_old_content(
    tmp_path: Path, write: Callable[[Path], object], step: str
) -> None:
    write(tmp_path)
    before = contents(tmp_path)
    write_on_a_full_disk(write, tmp_path, step)
    assert contents(tmp_path) == before
