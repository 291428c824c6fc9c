"""Which files of a folder are documents, which are only listed, and which are never looked at."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from recollect.capture.document_folders import FoundDocument, WalkRules, walk

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


def make(top: Path, *paths: str, text: str = "words\n") -> None:
    for path in paths:
        file = top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def rules(
    *, include: tuple[str, ...] = (), exclude: tuple[str, ...] = (), never: Collection[str] = (), most: int = 1 << 20
) -> WalkRules:
    return WalkRules(include=include, exclude=exclude, max_file_bytes=most, never=never)


def found(top: Path, *, only: Collection[str] | None = None, by: WalkRules | None = None) -> dict[str, FoundDocument]:
    """Return what a walk finds but folders, by path."""
    return {one.path: one for one in walk(str(top), by or rules(), only=only) if one.kind != "folder"}


def documents(top: Path, *, only: Collection[str] | None = None, by: WalkRules | None = None) -> set[str]:
    return {path for path, one in found(top, only=only, by=by).items() if one.kind == "document"}


DOCUMENTS = {
    "README", "README.md", "docs/guide.mdx", "docs/api.rst", "docs/manual.adoc", "notes.org", "notes.TXT", "ci.yml",
    ".github/workflows/test.yaml", "pyproject.toml", "package.json", "web/tsconfig.build.json", "composer.json",
    "api/openapi.v1.json", "api/user.schema.json", "run.sh", "Dockerfile", "Dockerfile.dev", "Makefile", "rules.mk",
    "Justfile", "justfile2/justfile", "LICENSE", "LICENSE-MIT", "NOTICE.txt", "CHANGELOG", "docs/secrets.md",
    "requirements.txt", "CODEOWNERS",
}  # fmt: skip
OTHERS = {
    "main.py", "src/lib.rs", "index.ts", "data.json", "package-lock.json", "pnpm-lock.yaml", "poetry.lock", "uv.lock",
    "jquery.min.md", "logo.png", "node_modules/left-pad/README.md", "build/index.md", "target/doc/x.md",
    ".git/description.txt", ".svn/notes.txt", "__pycache__/x.txt", "pkg.egg-info/SOURCES.txt", ".ruff_cache/README.md",
    "my-env/pyvenv.cfg", "my-env/lib/readme.md", ".ssh/config.txt",
}  # fmt: skip


def test_documentation_is_found_and_code_packages_and_builds_are_not(tmp_path: Path) -> None:
    make(tmp_path, *DOCUMENTS, *OTHERS)
    assert documents(tmp_path) == DOCUMENTS


SECRETS = (".env", "config/.env.local", "secrets.yml", "db-passwords.txt", "id_rsa.txt", ".npmrc", "credentials.toml")


def test_what_holds_credentials_by_its_name_is_listed_and_never_opened(tmp_path: Path) -> None:
    make(tmp_path, *SECRETS, "a.md")
    listed = found(tmp_path, by=rules(include=(".env*", ".npmrc")))
    assert {path for path, one in listed.items() if one.kind == "listed"} == set(SECRETS)
    assert all("never opened" in listed[path].reason for path in SECRETS)
    assert listed["a.md"].kind == "document"


def test_ignore_files_hold_at_every_depth_and_ours_is_the_stronger(tmp_path: Path) -> None:
    make(
        tmp_path,
        "a.md",
        "b.md",
        "sub/a.md",
        "sub/c.md",
        "sub/deep/c.md",
        "out/kept.md",
        "vendor/ours.md",
        "drafts/d.md",
    )
    (tmp_path / ".gitignore").write_text("a.md\nc.md\ndrafts/\nout/\n")
    (tmp_path / "sub/.gitignore").write_text("!a.md\n/c.md\n")
    (tmp_path / "sub/deep/.recollectignore").write_text("!c.md\n")
    (tmp_path / ".recollectignore").write_text("!out/\n!vendor/\nb.md\n")
    assert documents(tmp_path) == {"sub/a.md", "sub/deep/c.md", "out/kept.md", "vendor/ours.md"}


def test_the_rules_of_the_repository_above_hold_too(tmp_path: Path) -> None:
    make(tmp_path, "docs/a.md", "docs/b.md", "docs/c.md", "docs/old/d.md")
    (tmp_path / ".git/info").mkdir(parents=True)
    (tmp_path / ".git/info/exclude").write_text("/docs/b.md\n")
    (tmp_path / ".gitignore").write_text("docs/old/\nc.md\n")
    assert documents(tmp_path / "docs") == {"a.md"}


def test_the_configuration_adds_and_takes_away(tmp_path: Path) -> None:
    make(tmp_path, "api.proto", "build/plan.md", "a.md", "drafts/b.md", "ignored.proto")
    (tmp_path / ".gitignore").write_text("ignored.proto\n")
    by = rules(include=("*.proto", "build/"), exclude=("drafts/", "/a.md"))
    assert documents(tmp_path, by=by) == {"api.proto", "build/plan.md"}


@posix_only
def test_links_are_listed_and_never_followed(tmp_path: Path) -> None:
    top, outside = tmp_path / "top", tmp_path / "outside"
    make(outside, "secret.md", "more/x.md")
    make(top, "real.md", "sub/inner.md")
    (top / "out.md").symlink_to(outside / "secret.md")
    (top / "alias.md").symlink_to("real.md")
    (top / "folder").symlink_to(outside)
    (top / "sub/loop").symlink_to(top)
    (top / "nowhere.md").symlink_to("not-there.md")
    listed = found(top)
    assert {path for path, one in listed.items() if one.kind == "document"} == {"real.md", "sub/inner.md"}
    assert {path for path, one in listed.items() if one.kind == "listed"} == {
        "out.md", "alias.md", "folder", "sub/loop", "nowhere.md",
    }  # fmt: skip
    assert listed["out.md"].reason == f"is a link to {outside / 'secret.md'}"


@posix_only
def test_pipes_sockets_and_folders_with_a_documents_name_block_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "notes.md/inside.txt")
    os.mkfifo(tmp_path / "pipe.md")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.txt")
        listed = found(tmp_path)
    assert {path: one.kind for path, one in listed.items()} == {
        "notes.md/inside.txt": "document", "pipe.md": "listed", "socket.txt": "listed",
    }  # fmt: skip
    assert listed["pipe.md"].reason == "is not a regular file"


def test_a_huge_file_is_listed(tmp_path: Path) -> None:
    make(tmp_path, "small.md")
    make(tmp_path, "huge.md", text="x" * 3000)
    listed = found(tmp_path, by=rules(most=2048))
    assert (listed["small.md"].kind, listed["huge.md"].kind) == ("document", "listed")
    assert "larger than 2,048 bytes" in listed["huge.md"].reason


@pytest.mark.skipif(
    os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="rights do not bind root"
)
def test_a_folder_that_cannot_be_listed_is_told_and_an_ignore_file_that_cannot_be_read_opens_nothing(
    tmp_path: Path,
) -> None:
    make(tmp_path, "shut/a.md", "unsure/b.md", "unsure/.gitignore", "c.md")
    (tmp_path / "shut").chmod(0)
    (tmp_path / "unsure/.gitignore").chmod(0)
    try:
        listed = found(tmp_path)
    finally:
        (tmp_path / "shut").chmod(0o700)
    assert {path: one.kind for path, one in listed.items()} == {
        "shut": "unlisted", "unsure": "unlisted", "c.md": "document",
    }  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_name_that_is_not_utf8_is_listed(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("x")
    assert [(one.kind, one.path) for one in found(tmp_path).values()] == [("listed", "caf?.md")]


def test_the_memorys_own_folder_is_not_entered(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "memory/notes.md")
    assert documents(tmp_path, by=rules(never=(str(tmp_path / "memory"),))) == {"a.md"}


def test_only_what_changed_is_looked_at_by_the_same_rules(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "sub/b.md", "sub/deep/c.md", "sub/deep/no.md", "out/d.md", "ignored/e.md")
    (tmp_path / ".gitignore").write_text("ignored/\nno.md\n")
    everything = documents(tmp_path)
    assert everything == {"a.md", "sub/b.md", "sub/deep/c.md"}
    assert documents(tmp_path, only=["a.md"]) == {"a.md"}
    assert documents(tmp_path, only=["sub/deep"]) == {"sub/deep/c.md"}
    assert documents(tmp_path, only=["sub/deep/no.md", "out/d.md", "ignored/e.md", "not/there.md"]) == set()
    assert documents(tmp_path, only=["sub", "sub/b.md"]) == {"sub/b.md", "sub/deep/c.md"}
    assert documents(tmp_path, only=[""]) == everything


def test_a_folder_that_is_gone_is_told_not_raised(tmp_path: Path) -> None:
    assert [one.kind for one in walk(str(tmp_path / "gone"), rules())] == ["unlisted"]


def test_the_ignored_folder_that_a_person_names_is_walked(tmp_path: Path) -> None:
    make(tmp_path, "build/a.md", "build/b.log")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_text("build/\n")
    assert documents(tmp_path / "build") == {"a.md"}
