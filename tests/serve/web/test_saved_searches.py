"""Searches that are kept: by the page's own form, in the home, for every process."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from recollect import Memory
from recollect.errors import UnknownName, UsageError
from recollect.memory.notes import MAX_SAVED
from tests.serve.web.conftest import SECRET, Site

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page


def test_a_search_is_kept_and_removed_by_hand(page: Page, site: Site) -> None:
    page.locator("#q").fill("webhook retry")
    page.get_by_role("button", name="Save this search").click()
    page.wait_for_url("**/?q=webhook+retry")
    page.goto(site.base)
    page.get_by_role("link", name="webhook retry").click()
    page.wait_for_selector("mark")
    assert page.get_by_role("button", name="Save this search").count() == 0
    page.get_by_role("button", name="Remove the saved search webhook retry").click()
    page.get_by_role("button", name="Save this search").wait_for()
    assert page.get_by_role("link", name="webhook retry", exact=True).count() == 0


def test_only_the_pages_own_form_keeps_a_search(site: Site) -> None:
    wish = "act=keep&query=mine"
    assert site.get("/", form=wish).status == 403
    assert site.get("/", form=f"{wish}&form_token=wrong").status == 403
    token = re.search(r'name="form_token" value="([^"]*)"', site.get("/?q=webhook").text)
    assert token is not None
    for query in ("", "x" * 501):
        assert site.get("/", form=f"act=keep&query={query}&form_token={token[1]}").status == 400
    assert site.get("/", form=f"act=remove&query=nothing&form_token={token[1]}").status == 400
    assert "mine" not in site.get("/").text


def test_searches_are_kept_newest_first_once_each_without_secrets_and_through_a_rebuild(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", env={}) as memory:
        kept = memory.saved_searches
        assert kept.list() == ()
        for query in ("one", "two  words", "one", f"token {SECRET}"):
            kept.keep(query)
        first, *rest = kept.list()
        assert SECRET not in first
        assert rest == ["one", "two words"]
        assert memory.sync().state == "done"
        memory.maintenance.rebuild("all")
        assert kept.list() == (first, *rest)
        kept.remove("one")
        assert kept.list() == (first, "two words")
        with pytest.raises(UnknownName):
            kept.remove("one")
        for number in range(MAX_SAVED - 2):
            kept.keep(f"number {number}")
        with pytest.raises(UsageError):
            kept.keep("one too many")


def test_what_is_missing_is_told(site: Site) -> None:
    page = site.get("/?q=request+number+qqxzzy").text
    assert "in no event: qqxzzy" in page
    assert re.search(r"[1-9][\d,]* more match(es)? not shown", page)
