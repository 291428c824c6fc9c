"""Archives that users bring: what is unpacked, what is refused, and that nothing stays behind."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
import zstandard

from recollect.capture import sources, unzip
from recollect.capture.unzip import is_zip, unpacked
from recollect.errors import SourceRefused, SourceUnavailable
from tests.capture.conftest import Desk


def archive(path: Path, **files: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return path


def inside(folder: str) -> dict[str, bytes]:
    root = Path(folder)
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_json_files_are_unpacked_under_their_names_and_removed_after(tmp_path: Path) -> None:
    path = archive(
        tmp_path / "a.zip", conversations_dot_json=b"[]", deep__er__more_dot_jsonl=b"{}\n", picture_dot_png=b"\x89PNG"
    )
    with unpacked([path], tmp_path / "spool") as folders:
        ((folder, origin),) = folders.items()
        assert origin == str(path)
        assert inside(folder) == {"conversations.json": b"[]", "deep/er/more.jsonl": b"{}\n"}
        assert Path(folder).stat().st_mode & 0o077 == 0
    assert not (tmp_path / "spool").exists()


def test_the_same_archive_is_unpacked_to_the_same_place_and_time_again(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", a_dot_json=b"[]")
    seen = []
    for _ in range(2):
        with unpacked([path], tmp_path / "spool") as folders:
            (folder,) = folders
            seen.append((folder, (Path(folder) / "a.json").stat().st_mtime_ns))
    assert seen[0] == seen[1]


def test_two_archives_of_one_name_do_not_meet(tmp_path: Path) -> None:
    one = archive(tmp_path / "1/a.zip", a_dot_json=b"[1]")
    two = archive(tmp_path / "2/a.zip", a_dot_json=b"[2]")
    with unpacked([one, two, one], tmp_path / "spool") as folders:
        assert [inside(folder)["a.json"] for folder in folders] == [b"[1]", b"[2]"]


def test_what_an_import_that_was_killed_left_behind_is_removed(tmp_path: Path) -> None:
    (tmp_path / "spool/left").mkdir(parents=True)
    with unpacked([], tmp_path / "spool") as folders:
        assert folders == {}
    assert not (tmp_path / "spool").exists()


@pytest.mark.parametrize("name", ["../out.json", "/out.json", "a/../../out.json", "C:\\out.json", "..\\out.json"])
def test_a_file_that_would_leave_its_folder_refuses_the_whole_archive(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("good.json", "[]")
        made.writestr(name, "[]")
    with pytest.raises(SourceRefused, match="leaves"), unpacked([path], tmp_path / "spool"):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["a.zip"]


@pytest.mark.parametrize("is_honest", [True, False])
def test_a_bomb_is_refused_whether_it_states_its_size_or_not(
    is_honest: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unzip, "MAX_BYTES", 2_000_000)
    path = archive(tmp_path / "a.zip", a_dot_json=b"0" * 9_000_000)
    if not is_honest:  # the size stands in the local header and in the directory, after crc and compressed size
        data = bytearray(path.read_bytes())
        size = (9_000_000).to_bytes(4, "little")
        while (at := data.find(size)) >= 0:
            data[at : at + 4] = (1000).to_bytes(4, "little")
        path.write_bytes(data)
    with pytest.raises((SourceRefused, SourceUnavailable)), unpacked([path], tmp_path / "spool"):
        pass
    assert not (tmp_path / "spool").exists()


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unzip, "MAX_FILES", 2)
    path = archive(tmp_path / "a.zip", a_dot_json=b"[]", b_dot_json=b"[]", c_dot_json=b"[]")
    with pytest.raises(SourceRefused, match="more than"), unpacked([path], tmp_path / "spool"):
        pass


def test_a_damaged_archive_is_unavailable_and_nothing_stays_of_it(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", a_dot_json=b"[1, 2, 3]" * 1000)
    path.write_bytes(path.read_bytes()[:60])
    assert is_zip(path)
    with pytest.raises(SourceUnavailable, match="unpack"), unpacked([path], tmp_path / "spool"):
        pass
    assert not (tmp_path / "spool").exists()


def test_an_archive_is_told_by_its_beginning_not_by_its_name(tmp_path: Path) -> None:
    assert is_zip(archive(tmp_path / "export.data", a_dot_json=b"[]"))
    assert is_zip(archive(tmp_path / "empty.zip"))
    (tmp_path / "text.zip").write_text("no archive")
    assert not is_zip(tmp_path / "text.zip")
    assert not is_zip(tmp_path)
    assert not is_zip(tmp_path / "gone.zip")


@pytest.mark.parametrize(
    "unit", [b" ", b'{"id": "n", "x": "' + b"a" * 1000 + b'"}\n'], ids=["one record", "many lines"]
)
def test_a_compressed_file_that_gives_far_too_much_is_refused_alone(
    unit: bytes, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_DECOMPRESSED_BYTES", 6_000_000)
    bomb = zstandard.compress(unit * (9_000_000 // len(unit)))
    assert len(bomb) < 100_000
    desk.put("lines/bomb.jsonl.zst", bomb)
    desk.put("lines/sound.jsonl.zst", zstandard.compress(b'{"id": "n1", "say": "sound"}\n'))
    line = desk.sync()
    assert [(Path(s.path).name, s.is_failure) for s in line.skipped] == [("bomb.jsonl.zst", True)]
    assert desk.said("sound") == ["sound"]
    assert desk.is_whole()
