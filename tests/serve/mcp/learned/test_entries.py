"""What was learned, noted and documented, as the tools show it: within its bytes, cited, to be read on page by page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.errors import UnknownName
from recollect.memory import Memory
from recollect.serve.mcp.bounded_answer import size
from tests.ingest.entries.noted import draft, put
from tests.serve.mcp.homes import Machine
from tests.serve.mcp.test_answers import Asked

_QUOTED = re.compile(r"^  \| ?(.*)$", re.M)
LONG = "\n".join(f"Step {n}: restart the checkout service and wait for its probe." for n in range(240))


@pytest.fixture
def memory(history: Machine) -> Iterator[Memory]:
    put(
        history.home,
        draft("learning:l1", "Checkout tests take a fake clock", repo="shop", state="active", status="derived"),
        draft("action:a1", "Renew the certificate of staging", repo="shop", state="done", status="derived",
              session_uid="codex:deploy"),
        draft("document:docs/run#1.md", "Checkout runbook.", LONG, "The end of checkout.", title="Runbook",
              headings=("Runbook", "Runbook > Steps", "Runbook > End"), repo="shop", path="run#1.md"),
    )  # fmt: skip
    with history.memory() as memory:
        memory.refresh()
        yield memory


@pytest.fixture
def asked(memory: Memory, history: Machine) -> Asked:
    return Asked(memory, history.folder("shop"))


def said(page: str) -> str:
    return "\n".join(_QUOTED.findall(page))


@pytest.mark.parametrize("max_bytes", [1000, 4096])
def test_a_search_ends_with_one_short_block_of_what_was_learned(asked: Asked, max_bytes: int) -> None:
    page = asked("search", query="checkout clock", max_bytes=max_bytes)
    assert size(page) <= max_bytes
    assert page.count("Learned and noted:") == 1
    assert "learning:l1#0 · learning · active · derived" in page
    assert "codex:" not in page.partition("Learned and noted:")[2]
    assert "Learned and noted" not in asked("search", query="blog template")
    alone = asked("search", query="renew certificate kind:action")
    assert "action:a1#0" in alone
    assert " · done derived\n" in alone


def test_a_search_that_only_learnings_answer_shows_them(memory: Memory, tmp_path: Path) -> None:
    put(memory.home, draft("diary:d1", "The zeppelin flew"))
    memory.refresh()
    page = Asked(memory, None)("search", query="zeppelin")
    assert "Nothing found" in page
    assert "diary:d1#0" in page


def test_a_part_opens_in_full_between_its_neighbours(asked: Asked) -> None:
    pages = asked.pages("open", id="document:docs/run#1.md#1")
    assert all(size(page) <= 4096 for page in pages)
    assert len(pages) > 2
    assert "".join(said(page) for page in pages).replace("\n", "") == LONG.replace("\n", "")
    short = asked("open", id="document:docs/run#1.md#0", max_bytes=2000)
    assert "Checkout runbook." in short
    assert "document:docs/run#1.md#1" in short
    assert "from codex:deploy" in asked("open", id="action:a1#0")


def test_a_document_is_read_like_a_session_in_pages(asked: Asked) -> None:
    pages = asked.pages("get_session", session="document:docs/run#1.md")
    assert all(size(page) <= 4096 for page in pages)
    text = "".join(said(page) for page in pages)
    assert text.count("Step") == 240
    assert "The end of checkout." in text


@pytest.mark.parametrize("cited", ["learning:l1#7", "learning:none#0", "document:docs/none.md"])
def test_what_is_not_there_is_named(asked: Asked, cited: str) -> None:
    with pytest.raises(UnknownName):
        asked("open", id=cited)


def test_ranked_sessions_are_sessions_only(asked: Asked) -> None:
    assert "document:" not in asked("search_conversations", query="checkout")
