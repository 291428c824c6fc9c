"""`recollect help`: every page of the documentation can be read in the terminal, and every hint names one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.cli.commands.config import KINDS, pages

_NAMED = re.compile(r"`?recollect help ([a-z][a-z-]+)")


def test_it_lists_every_page_that_users_read(recollect: Callable[..., Any], repository: Path) -> None:
    stems = [path.stem for kind in KINDS for path in (repository / "docs" / kind).glob("*.md")]
    assert sorted(stems) == sorted(pages())
    listed = recollect("help", "--json").data["topics"]
    assert [page["topic"] for page in listed] == list(pages())
    assert all(page["title"] and not page["text"] for page in listed)


@pytest.mark.parametrize("topic", sorted(pages()))
def test_it_shows_each_page_without_links_that_a_terminal_cannot_follow(
    recollect: Callable[..., Any], topic: str
) -> None:
    out = recollect("help", topic).out
    assert out.startswith("# ")
    assert re.findall(r"\]\((?!\w+:)[^)]*\.md", out) == []


def test_a_terminal_gets_it_laid_out(recollect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in recollect("help", "retention").out


def test_a_misspelt_topic_is_told_the_nearest(recollect: Callable[..., Any]) -> None:
    done = recollect("help", "retentoin")
    assert done.code == 2
    assert "did you mean retention?" in done.err


def test_every_hint_names_a_page_that_exists(repository: Path) -> None:
    named = {
        (path.name, topic)
        for path in (repository / "src").rglob("*.py")
        for topic in _NAMED.findall(path.read_text("utf-8"))
    }
    assert len(named) > 5
    assert {(name, topic) for name, topic in named if topic not in pages()} == set()
