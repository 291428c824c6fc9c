"""The keys of a home: made once, never silently made anew."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.archive.keys import load_keys, load_or_create_keys
from recollect.errors import KeyUnavailable

posix_only = pytest.mark.skipif(os.name == "nt", reason="file modes are POSIX's")

FILES = ("wrapping.key", "data.key")


def test_keys_are_made_once_and_loaded_ever_after(tmp_path: Path) -> None:
    made = load_or_create_keys(tmp_path / "keys")
    assert load_or_create_keys(tmp_path / "keys") == made
    assert load_keys(tmp_path / "keys") == made
    assert sorted(path.name for path in (tmp_path / "keys").iterdir()) == sorted(FILES)


def test_two_homes_have_different_keys(tmp_path: Path) -> None:
    assert load_or_create_keys(tmp_path / "a") != load_or_create_keys(tmp_path / "b")


@posix_only
def test_keys_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    load_or_create_keys(tmp_path / "home" / "keys")
    assert stat.S_IMODE((tmp_path / "home" / "keys").stat().st_mode) == 0o700
    for name in FILES:
        assert stat.S_IMODE((tmp_path / "home" / "keys" / name).stat().st_mode) == 0o600


def test_the_data_key_is_not_on_disk_in_clear(tmp_path: Path) -> None:
    keys = load_or_create_keys(tmp_path)
    for path in tmp_path.iterdir():
        assert keys.data_key not in path.read_bytes()


def test_processes_that_create_at_once_get_the_same_keys(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from recollect.archive.keys import load_or_create_keys\n"
        "sys.stdin.readline(); print(load_or_create_keys(Path(sys.argv[1])).name_key.hex())"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "keys")]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    names = {process.communicate()[0].strip() for process in processes}
    assert names == {load_keys(tmp_path / "keys").name_key.hex()}
    assert sorted(path.name for path in (tmp_path / "keys").iterdir()) == sorted(FILES)


def test_a_creator_that_died_between_the_two_files_is_continued(tmp_path: Path) -> None:
    load_or_create_keys(tmp_path)
    wrapping = (tmp_path / "wrapping.key").read_bytes()
    (tmp_path / "data.key").unlink()
    keys = load_or_create_keys(tmp_path)
    assert (tmp_path / "wrapping.key").read_bytes() == wrapping
    assert load_keys(tmp_path) == keys


def test_a_file_system_without_hard_links_is_served_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    keys = load_or_create_keys(tmp_path)
    assert load_keys(tmp_path) == keys
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)


def test_a_missing_home_has_a_message_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(KeyUnavailable, match=r"key is missing: .*data\.key$") as caught:
        load_keys(tmp_path / "none")
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    assert not (tmp_path / "none").exists()


def test_a_lost_wrapping_key_is_never_made_anew(tmp_path: Path) -> None:
    load_or_create_keys(tmp_path)
    (tmp_path / "wrapping.key").unlink()
    with pytest.raises(KeyUnavailable, match="missing"):
        load_or_create_keys(tmp_path)
    assert not (tmp_path / "wrapping.key").exists()


@pytest.mark.parametrize("name", FILES)
def test_any_tampered_or_shortened_key_file_is_refused(tmp_path: Path, name: str) -> None:
    made = load_or_create_keys(tmp_path)
    path = tmp_path / name
    sound = path.read_bytes()
    for i in range(len(sound)):
        path.write_bytes(sound[:i])
        with pytest.raises(KeyUnavailable):
            load_keys(tmp_path)
        path.write_bytes(sound[:i] + bytes([sound[i] ^ 0x01]) + sound[i + 1 :])
        try:
            assert load_keys(tmp_path) == made  # the unused low bits of base64 carry nothing
        except KeyUnavailable:
            continue


def test_a_wrapping_key_of_another_home_is_refused(tmp_path: Path) -> None:
    load_or_create_keys(tmp_path / "a")
    load_or_create_keys(tmp_path / "b")
    (tmp_path / "a" / "wrapping.key").write_bytes((tmp_path / "b" / "wrapping.key").read_bytes())
    with pytest.raises(KeyUnavailable, match="is not the key that seals"):
        load_keys(tmp_path / "a")


def test_a_newer_key_file_is_refused_politely(tmp_path: Path) -> None:
    load_or_create_keys(tmp_path)
    path = tmp_path / "data.key"
    path.write_bytes(path.read_bytes().replace(b'"version":1', b'"version":9'))
    with pytest.raises(KeyUnavailable, match="has version 9"):
        load_keys(tmp_path)


def test_a_directory_in_place_of_a_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.key").mkdir()
    with pytest.raises(KeyUnavailable, match="cannot be read"):
        load_or_create_keys(tmp_path)
