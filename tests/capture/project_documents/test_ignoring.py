"""What is ignored is what git ignores: git itself is asked."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.capture.gitignore import IgnoreRules, IgnoreStack, lines_of
from tests.examples import tried

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="asks git")

SEGMENTS = (
    "a", "b", "ab", "doc", "x.md", "y.txt", "*", "**", "a*", "*b", "a*b*", "?", "*?", "[ab]", "[!a]", "[^x]*", "[a-c]",
    "*.md", "d*c", r"\*", "[[:alpha:]]", "***",
)  # fmt: skip
NAMES = ("a", "b", "ab", "doc", "x.md", "y.txt", "zz")


@st.composite
def patterns(draw: st.DrawFn) -> str:
    text = "/".join(draw(st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=3)))
    return (
        draw(st.sampled_from(("", "!")))
        + draw(st.sampled_from(("", "/")))
        + text
        + draw(st.sampled_from(("", "/", " ", "\\ ")))
    )


paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)


def walked(top: Path, stack: IgnoreStack, prefix: str = "") -> Iterator[str]:
    """Yield the files that are not ignored, top down, as a walk finds them."""
    here = top / prefix
    own = here / ".gitignore"
    if own.is_file():
        stack = stack.below(prefix, IgnoreRules(lines_of(own.read_bytes())))
    for entry in sorted(here.iterdir()):
        path = prefix + entry.name
        if entry.name in (".git", ".gitignore") or stack.says(path, is_folder=entry.is_dir()):
            continue
        if entry.is_dir():
            yield from walked(top, stack, f"{path}/")
        else:
            yield path


@needs_git
@settings(max_examples=tried(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    top=st.lists(patterns(), min_size=1, max_size=4),
    nested=st.lists(patterns(), max_size=3),
    files=st.sets(paths, min_size=4, max_size=14),
)
def test_what_git_ignores_is_ignored(tmp_path: Path, top: list[str], nested: list[str], files: set[str]) -> None:
    repository = tmp_path / "repository"
    env = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(tmp_path)}
    if not repository.exists():
        subprocess.run(["git", "init", "-q", str(repository)], env=env, check=True)
    for left in repository.iterdir():
        if left.name != ".git":
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    for file in sorted(files):
        path = repository / file
        if not any(parent.is_file() for parent in path.parents) and not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    (repository / ".gitignore").write_text("\n".join(top) + "\n", newline="\n")
    folders = sorted(p for p in repository.iterdir() if p.is_dir() and p.name != ".git")
    if folders and nested:
        (folders[0] / ".gitignore").write_text("\n".join(nested) + "\n", newline="\n")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard"], cwd=repository, env=env, check=True,
        capture_output=True,
    ).stdout.decode()  # fmt: skip
    expected = {path for path in listed.split("\0") if path and not path.endswith(".gitignore")}
    assert set(walked(repository, IgnoreStack())) == expected


def test_the_last_line_that_matches_holds_and_a_deeper_file_is_stronger() -> None:
    stack = IgnoreStack().below("", IgnoreRules(["*.md", "!keep.md"])).below("sub/", IgnoreRules(["keep.md", "!x.md"]))
    assert stack.says("keep.md", is_folder=False) is False
    assert stack.says("sub/keep.md", is_folder=False) is True
    assert stack.says("sub/x.md", is_folder=False) is False
    assert stack.says("sub/y.md", is_folder=False) is True
    assert stack.says("y.txt", is_folder=False) is None


@pytest.mark.parametrize(
    "pattern", ["*a" * 200 + "*b", "**/" * 200 + "b", "**/a*/" * 100 + "x", "[" + "a" * 900, "a" * 5_000]
)
def test_a_hostile_line_ends(pattern: str) -> None:
    deep = "/".join(["a" * 200] * 20)
    assert not IgnoreRules([pattern]).says(deep, is_folder=False)


def test_comments_blank_lines_marks_and_carriage_returns_are_read_as_git_does() -> None:
    rules = IgnoreRules(lines_of(b"\xef\xbb\xbf# not a pattern\r\n\r\ndrafts/\r\n\\#odd.md\r\n\\!odd.md\r\n"))
    assert rules.says("drafts", is_folder=True) is True
    assert rules.says("drafts", is_folder=False) is None
    assert rules.says("#odd.md", is_folder=False) is True
    assert rules.says("!odd.md", is_folder=False) is True
    assert rules.says("# not a pattern", is_folder=False) is None
