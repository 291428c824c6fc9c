"""One file is replaced, created or moved as a whole, whatever fails and whoever else is at work."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import files
from recollect.files import DRAFT_SUFFIX, create_file, move, remove_drafts, write_file

POSIX = pytest.mark.skipif(os.name == "nt", reason="POSIX files")


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is synced and renamed, in order."""
    found: list[str] = []
    replace, link, fsync = os.replace, os.link, os.fsync

    def on_fsync(descriptor: int) -> None:
        found.append("sync folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "sync file")
        fsync(descriptor)

    def on_replace(source: str, target: str) -> None:
        found.append("replace")
        replace(source, target)

    def on_link(source: str, target: str) -> None:
        found.append("link")
        link(source, target)

    monkeypatch.setattr(os, "fsync", on_fsync)
    monkeypatch.setattr(os, "replace", on_replace)
    monkeypatch.setattr(os, "link", on_link)
    return found


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@POSIX
def test_a_durable_write_syncs_the_content_before_the_file_has_its_name_and_the_folder_after(
    tmp_path: Path, steps: list[str]
) -> None:
    assert write_file(tmp_path / "a", b"new", durable=True) == 3
    assert steps == ["sync file", "replace", "sync folder"]


@POSIX
def test_a_durable_new_file_is_synced_like_any_other(tmp_path: Path, steps: list[str]) -> None:
    assert create_file(tmp_path / "a", b"new", durable=True)
    assert steps == ["sync file", "link", "sync folder"]


@POSIX
def test_a_durable_move_syncs_the_folder(tmp_path: Path, steps: list[str]) -> None:
    (tmp_path / "a").write_bytes(b"x")
    move(tmp_path / "a", tmp_path / "b", durable=True)
    assert steps == ["replace", "sync folder"]


def test_a_write_that_need_not_last_syncs_nothing(tmp_path: Path, steps: list[str]) -> None:
    write_file(tmp_path / "a", b"new", durable=False)
    assert steps == ["replace"]


@pytest.mark.parametrize("fails", ["write", "fsync", "replace"])
def test_a_full_disk_at_any_step_leaves_the_old_content_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    (tmp_path / "a").write_bytes(b"old")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, fails, full)
    with pytest.raises(OSError, match="No space"):
        write_file(tmp_path / "a", b"new", durable=True)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_an_interrupted_write_leaves_the_old_content_and_no_draft(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "a", b"new", durable=True, before_replace=interrupt)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


KILLED = """
import os, signal, sys
from recollect.files import write_file
write_file(sys.argv[1], b"new", durable=True, before_replace=lambda: os.kill(os.getpid(), signal.SIGKILL))
"""


@POSIX
def test_a_killed_write_leaves_the_old_content_and_the_next_write_removes_its_draft(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == [f".a{DRAFT_SUFFIX}", "a"]
    write_file(path, b"newer", durable=False)
    assert (path.read_bytes(), names(tmp_path)) == (b"newer", ["a"])


@POSIX
def test_drafts_of_killed_writes_can_be_removed_without_writing_again(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "a")], check=False)

    def meanwhile() -> None:
        remove_drafts(tmp_path)
        assert names(tmp_path) == [f".b{DRAFT_SUFFIX}"], "that of a writer at work stays"

    write_file(tmp_path / "b", b"new", durable=False, before_replace=meanwhile)
    assert names(tmp_path) == ["b"]


@POSIX
def test_a_draft_that_is_being_written_is_not_touched_by_another_writer(tmp_path: Path) -> None:
    path = tmp_path / "a"

    def meanwhile() -> None:
        write_file(path, b"other", durable=False)
        assert path.read_bytes() == b"other"

    write_file(path, b"mine", durable=False, before_replace=meanwhile)
    assert (path.read_bytes(), names(tmp_path)) == (b"mine", ["a"])


def test_writers_at_the_same_time_never_mix_their_content(tmp_path: Path) -> None:
    path = tmp_path / "a"
    contents = [bytes([number]) * 50_000 for number in range(4)]
    write_file(path, contents[0], durable=False)
    failed: list[BaseException] = []

    def write(content: bytes) -> None:
        try:
            for _ in range(20):
                write_file(path, content, durable=False)
                assert path.read_bytes() in contents
        except BaseException as error:  # noqa: BLE001 - the test tells of it
            failed.append(error)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert names(tmp_path) == ["a"]


def test_what_the_last_check_raises_stops_the_write(tmp_path: Path) -> None:
    def refuse() -> None:
        raise ValueError("changed")

    with pytest.raises(ValueError, match="changed"):
        write_file(tmp_path / "a", b"new", durable=True, before_replace=refuse)
    assert names(tmp_path) == []


@POSIX
def test_a_file_is_private_unless_it_is_said_otherwise(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_file(tmp_path / "a", b"", durable=False)
        write_file(tmp_path / "b", b"", durable=False, mode=0o666)
        write_file(tmp_path / "c", b"", durable=False, mode=None)
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in "abc"] == [0o600, 0o644, 0o600]


@POSIX
def test_somebody_elses_file_keeps_its_mode_and_stays_behind_its_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "settings"
    real.write_bytes(b"old")
    real.chmod(0o640)
    (tmp_path / "link").symlink_to(real)
    write_file(tmp_path / "link", b"new", durable=True, mode=None)
    assert (tmp_path / "link").is_symlink()
    assert (real.read_bytes(), stat.S_IMODE(real.stat().st_mode)) == (b"new", 0o640)


@POSIX
def test_somebody_elses_file_is_given_back_to_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"old")
    owned = (tmp_path / "a").stat()
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "chown", lambda _path, user, group: given.append((user, group)))
    real = os.stat

    def as_if_root_wrote(path: str, **options: bool) -> os.stat_result:
        found = real(path, **options)
        if not os.fspath(path).endswith(DRAFT_SUFFIX):
            return found
        return os.stat_result((*found[:4], owned.st_uid + 1, *found[5:]))

    monkeypatch.setattr(os, "stat", as_if_root_wrote)
    write_file(tmp_path / "a", b"new", durable=False, mode=None)
    assert given == [(owned.st_uid, owned.st_gid)]


@POSIX
def test_our_own_file_takes_the_place_of_a_link(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_bytes(b"old")
    (tmp_path / "a").symlink_to(tmp_path / "theirs")
    write_file(tmp_path / "a", b"new", durable=False)
    assert not (tmp_path / "a").is_symlink()
    assert (tmp_path / "theirs").read_bytes() == b"old"


def test_a_new_file_never_replaces_one_that_is_there(tmp_path: Path) -> None:
    assert create_file(tmp_path / "a", b"first", durable=False)
    assert not create_file(tmp_path / "a", b"second", durable=False)
    assert ((tmp_path / "a").read_bytes(), names(tmp_path)) == (b"first", ["a"])


@POSIX
def test_of_two_that_create_a_file_at_once_the_first_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def somebody_was_first(draft: str, target: str) -> None:
        Path(target).write_bytes(b"theirs")
        link(draft, target)

    monkeypatch.setattr(os, "link", somebody_was_first)
    assert not create_file(tmp_path / "a", b"mine", durable=True)
    assert ((tmp_path / "a").read_bytes(), names(tmp_path)) == (b"theirs", ["a"])


@POSIX
def test_a_file_system_without_hard_links_gets_new_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert create_file(tmp_path / "a", b"x", durable=True)
    assert not create_file(tmp_path / "a", b"y", durable=True)
    assert ((tmp_path / "a").read_bytes(), names(tmp_path)) == (b"x", ["a"])


@POSIX
def test_a_file_system_that_cannot_sync_folders_is_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync = os.fsync

    def refuse_folders(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    write_file(tmp_path / "a", b"x", durable=True)
    assert (tmp_path / "a").read_bytes() == b"x"


def test_on_windows_a_file_that_somebody_has_open_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace
    tries: list[str] = []

    def refuse_twice(source: str, target: str) -> None:
        tries.append(target)
        if len(tries) < 3:
            raise PermissionError(errno.EACCES, "The process cannot access the file")
        replace(source, target)

    monkeypatch.setattr(files, "_IS_WINDOWS", True)
    monkeypatch.setattr(files, "_WAITS_S", (0, 0, 0))
    monkeypatch.setattr(os, "replace", refuse_twice)
    write_file(tmp_path / "a", b"x", durable=True)
    assert (len(tries), (tmp_path / "a").read_bytes(), names(tmp_path)) == (3, b"x", ["a"])


def test_on_windows_a_file_that_stays_open_is_reported_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"old")

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "The process cannot access the file")

    monkeypatch.setattr(files, "_IS_WINDOWS", True)
    monkeypatch.setattr(files, "_WAITS_S", (0, 0))
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError, match="cannot access"):
        write_file(tmp_path / "a", b"new", durable=True)
    assert ((tmp_path / "a").read_bytes(), names(tmp_path)) == (b"old", ["a"])


def test_a_name_as_long_as_names_may_be_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    write_file(path, b"1", durable=False)
    write_file(path, b"2", durable=False)
    assert path.read_bytes() == b"2"


@given(pieces=st.lists(st.binary(max_size=200), max_size=5))
def test_any_pieces_are_one_file(tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("pieces") / "a"
    assert write_file(path, iter(pieces), durable=False) == len(b"".join(pieces))
    assert path.read_bytes() == b"".join(pieces)
