"""A document's bytes are those of one moment; what is no text is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.capture import document_text
from recollect.capture.document_folders import as_name, is_name, project_name
from recollect.capture.document_text import read_document, text_of
from recollect.errors import SourceChanged, SourceRefused, SourceUnavailable

MOST = 1 << 20


def test_the_bytes_come_with_what_the_file_was(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    file = tmp_path / "sub/a.md"
    file.write_bytes(b"\xef\xbb\xbfwords\r\n")
    read = read_document(str(tmp_path), "sub/a.md", max_bytes=MOST)
    assert read == (file.read_bytes(), 10, file.stat().st_mtime_ns, file.stat().st_ctime_ns)
    assert text_of(read.data) == "words\r\n"


@pytest.mark.parametrize("text", ["", "é\u2028\n", "\U0001f600"])
def test_text_is_utf8_or_marked_utf16(text: str) -> None:
    assert text_of(text.encode()) == text
    assert text_of(b"\xff\xfe" + text.encode("utf-16-le")) == text
    assert text_of(b"\xfe\xff" + text.encode("utf-16-be")) == text


@pytest.mark.parametrize("data", [b"a\x00b", b"caf\xe9", b"\x89PNG\r\n\x1a\n", b"\xff\xfea", b"\xed\xa0\x80"])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(SourceRefused):
        text_of(data)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
def test_nothing_but_a_regular_file_inside_the_folder_is_opened(tmp_path: Path) -> None:
    top, outside = tmp_path / "top", tmp_path / "outside"
    for folder in (top, outside):
        folder.mkdir()
        (folder / "a.md").write_text("x")
    os.mkfifo(top / "pipe.md")
    (top / "link.md").symlink_to(outside / "a.md")
    (top / "folder").symlink_to(outside)
    for path in ("pipe.md", "folder/a.md"):
        with pytest.raises(SourceRefused):
            read_document(str(top), path, max_bytes=MOST)
    for path in ("link.md", "gone.md"):
        with pytest.raises(SourceUnavailable):
            read_document(str(top), path, max_bytes=MOST)
    (top / "huge.md").write_text("x" * 100)
    with pytest.raises(SourceRefused):
        read_document(str(top), "huge.md", max_bytes=99)


@pytest.mark.parametrize("change", ["grow", "replace", "remove"])
def test_a_file_that_changes_while_it_is_read_is_left_for_the_next_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    file = tmp_path / "a.md"
    file.write_text("one\n")
    whole = document_text._read_whole

    def meanwhile(descriptor: int, size: int) -> bytes:
        data = whole(descriptor, size)
        if change == "grow":
            with file.open("a") as handle:
                handle.write("two\n")
        elif change == "replace":
            other = tmp_path / "other"
            other.write_text("one\n")
            other.replace(file)
        else:
            file.unlink()
        return data

    monkeypatch.setattr(document_text, "_read_whole", meanwhile)
    with pytest.raises(SourceChanged):
        read_document(str(tmp_path), "a.md", max_bytes=MOST)


def test_a_project_says_what_its_collection_is_called(tmp_path: Path) -> None:
    assert project_name(str(tmp_path)) == ("", "", "")
    (tmp_path / "mempal.yml").write_text("wing: old_wing\n")
    assert project_name(str(tmp_path)).name == "old_wing"
    (tmp_path / "mempalace.yaml").write_text("wing: shop\nrooms:\n  - name: a\n")
    assert project_name(str(tmp_path)) == ("shop", "mempalace.yaml", "")
    (tmp_path / ".recollect.toml").write_text('[documents]\ncollection = "handbook"\n')
    assert project_name(str(tmp_path)) == ("handbook", ".recollect.toml", "")
    (tmp_path / "recollect.toml").write_text("[documents\n")
    assert project_name(str(tmp_path)).name == "handbook"
    assert "recollect.toml was skipped" in project_name(str(tmp_path)).problem


@pytest.mark.parametrize(
    "text",
    [
        "wing: [a]\n",
        "wing: !!python/object/apply:os.system ['true']\n",
        "[" * 20_000,
        "wing: a/b\n",
        "wing: ''\n",
        "- x\n",
    ],
)
def test_a_hostile_project_file_names_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "mempalace.yaml").write_text(text)
    assert project_name(str(tmp_path)).name == ""


def test_any_folder_has_a_name_that_can_be_one() -> None:
    for text in ("docs", "a/b#c", "\x00", "", "  ", "é" * 300, "\udcff"):
        assert is_name(as_name(text))
