"""`search` and `show` of what was learned, noted and documented."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.memory import Memory
from tests.ingest.entries.noted import draft, put


@pytest.fixture
def noted(isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory without sessions, with a learning and a document."""
    home = tmp_path / "memory"
    monkeypatch.setenv("RECOLLECT_HOME", str(home))
    with Memory.open(home) as memory:
        memory.sync()
    put(
        home,
        draft("learning:l1", "Tests take a fake clock", repo="shop", state="active", status="derived",
              session_uid="claude:one"),
        draft("document:docs/a.md", "One clock.", "Two.", "Three.", "Four.", repo="shop", path="a.md"),
    )  # fmt: skip
    return home


def test_a_search_shows_learnings_apart_and_gives_the_same_as_json(noted: Path, recollect: Callable[..., Any]) -> None:
    shown = recollect("search", "clock")
    assert shown.code == 0
    assert shown.out.index("document:docs/a.md#0") < shown.out.index("Learned and noted")
    assert shown.out.index("Learned and noted") < shown.out.index("learning:l1#0")
    data = recollect("search", "clock", "--json").data
    assert [hit["session_uid"] for hit in data["learned"]] == ["learning:l1"]
    assert (data["learned"][0]["state"], data["learned"][0]["status"]) == ("active", "derived")
    only = recollect("search", "fake", "--json")
    assert (only.code, only.data["hits"], only.data["abstained"]) == (0, [], False)
    assert recollect("search", "fake", "kind:document").code == 1


def test_show_gives_an_entry_or_one_part_with_its_neighbours(noted: Path, recollect: Callable[..., Any]) -> None:
    whole = recollect("show", "document:docs/a.md", "--json").data
    assert [part["text"] for part in whole["parts"]] == ["One clock.", "Two.", "Three.", "Four."]
    part = recollect("show", "document:docs/a.md#2", "--json").data
    assert ([p["part"] for p in part["parts"]], part["part_count"]) == ([1, 2, 3], 4)
    page = recollect("show", "document:docs/a.md", "--limit", "2")
    assert "One clock." in page.out
    assert "--from 2" in page.out
    learned = recollect("show", "learning:l")
    assert "from session claude:one" in learned.out
    assert "Tests take a fake clock" in learned.out
    assert recollect("show", "document:docs/a.md#9").code == 2
    assert recollect("show", "fact:none").code == 2


def test_stats_count_what_was_learned_and_documented(noted: Path, recollect: Callable[..., Any]) -> None:
    assert recollect("stats", "--json").data["entries"] == {"document": 1, "learning": 1}
    assert "learned and noted: 1 document, 1 learning" in recollect("stats").out
