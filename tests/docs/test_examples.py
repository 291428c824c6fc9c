"""Every example with output, in the tutorial and the how-to pages, is what the program says of the bundled sample."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from recollect.cli.commands.config import pages
from tests.cli.conftest import demo, recollect
from tests.docs.pages import blocks

__all__ = ["demo", "recollect"]
EXECUTED = "console"
_PROMPT = "$ "
_VARIES = re.compile(r"\b\d+ \w+ ago\b|\b\d+ ms\b")
_ELIDED = "…"


class Example(NamedTuple):
    """A command of a page and what the page says that it prints. A word `…` stands for anything, or nothing."""

    line: int
    command: str
    output: str


def examples(text: str) -> Iterator[Example]:
    """Yield the commands of a page's executed blocks, in order."""
    for block in blocks(text):
        if block.language == EXECUTED:
            lines = block.text.splitlines()
            starts = [at for at, line in enumerate(lines) if line.startswith(_PROMPT)]
            for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
                yield Example(block.line + start, lines[start][len(_PROMPT) :], "\n".join(lines[start + 1 : end]))


def is_said(shown: str, said: str) -> bool:
    """Whether a program said what a page shows, apart from white space and from what varies with the clock."""
    words = [".*" if word == _ELIDED else re.escape(word) for word in _VARIES.sub("N", shown).split()]
    return re.fullmatch(r"\s*".join(words), _VARIES.sub("N", said).strip(), re.S) is not None


@pytest.fixture
def sample(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a copy of the sample's home the user's for one page, which may write to it and to an empty folder."""
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("RECOLLECT_HOME", str(shutil.copytree(demo, tmp_path / "memory")))


TASKS = {topic: path for topic, (kind, path) in pages().items() if kind in ("tutorial", "how-to", "explanation")}


@pytest.mark.parametrize("topic", [t for t, path in TASKS.items() if list(examples(path.read_text("utf-8")))])
@pytest.mark.usefixtures("sample")
def test_the_program_says_what_the_page_shows(topic: str, recollect: Callable[..., Any]) -> None:
    for example in examples(TASKS[topic].read_text("utf-8")):
        program, *words = shlex.split(example.command)
        assert program == "recollect", f"{topic}, line {example.line}: only recollect is run"
        done = recollect(*words)
        assert is_said(example.output, done.out + done.err), f"{topic}, line {example.line}:\n{done.out}{done.err}"


@pytest.mark.parametrize("topic", sorted(TASKS))
def test_no_page_shows_output_that_nobody_checks(topic: str) -> None:
    text = TASKS[topic].read_text("utf-8")
    assert [b.line for b in blocks(text) if b.language != EXECUTED and re.search(r"^\$ recollect", b.text, re.M)] == []


@pytest.mark.parametrize(
    ("shown", "said", "is_same"),
    [
        ("a  b", "a b", True),
        ("a\n  b", "a b", True),
        ("seen 2 mo ago", "seen 3 days ago", True),
        ("a … c", "a b c", True),
        ("…\nc", "a b\nc", True),
        ("a b", "a b c", False),
        ("$0.52", "$0.53", False),
        ("a", "", False),
    ],
)
def test_outputs_are_compared_by_words(shown: str, said: str, is_same: bool) -> None:
    assert is_said(shown, said) is is_same
