"""The list of sessions: orders, filters, and what changes while it is open."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, get_args
from urllib.parse import quote

import pytest

from recollect.memory import SessionOrder
from recollect.testing.builders import ClaudeTranscript, stable_uuid
from tests.serve.web.conftest import LONG, RICH, Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def uids(page: str) -> list[str]:
    return re.findall(r'<tr data-item data-uid="([^"]*)"', page)


def column(page: str, name: str) -> list[str]:
    cells = re.findall(rf'<td class="(?:n )?c-{name}">(.*?)</td>', page, re.DOTALL)
    return [" ".join(re.sub("<[^>]*>", " ", cell).split()) for cell in cells]


@pytest.mark.parametrize("order", get_args(SessionOrder))
def test_every_order_goes_both_ways_and_lists_the_same_sessions(site: Site, order: str) -> None:
    up, down = site.get(f"/sessions?sort={order}"), site.get(f"/sessions?sort=-{order}")
    assert (up.status, down.status) == (200, 200)
    assert set(uids(up.text)) == set(uids(down.text)) == set(uids(site.get("/sessions").text))
    assert 'aria-sort="ascending"' in up.text
    assert 'aria-sort="descending"' in down.text


@pytest.mark.parametrize(("order", "read"), [("turns", int), ("edits", int), ("agent", str), ("cost", str)])
def test_an_order_is_that_of_its_column(site: Site, order: str, read: type) -> None:
    shown = [read(text.strip("$") or 0) for text in column(site.get(f"/sessions?sort={order}").text, order)]
    assert shown == sorted(shown)


def test_a_list_is_confined_by_title_and_outcome(site: Site) -> None:
    assert uids(site.get("/sessions?title=PICTURE").text) == [RICH]
    succeeded = site.get("/sessions?outcome=success").text
    assert {text.split()[0] for text in column(succeeded, "outcome")} == {"success"}
    assert "No sessions match" in site.get("/sessions?title=qqxzzy").text


@pytest.mark.parametrize("query", ["sort=weather", "outcome=x", "sort=-"])
def test_an_order_or_outcome_that_does_not_exist_is_refused(site: Site, query: str) -> None:
    assert site.get(f"/sessions?{query}").status == 400


def test_pages_of_a_sorted_list_follow_each_other(site: Site) -> None:
    rows = site.get("/sessions/rows?sort=turns&offset=3").text
    assert uids(rows) == uids(site.get("/sessions?sort=turns").text)[3:]


def test_a_running_session_is_marked_and_the_list_follows_it(page: Page, site: Site) -> None:
    page.goto(f"{site.base}/sessions")
    row = page.locator(f"tr[data-uid='{RICH}']")
    assert row.locator(".running").count() == 1
    assert page.locator(f"tr[data-uid='{LONG}'] .running").count() == 0
    fresh = ClaudeTranscript(site.home / "sample" / "claude", f"live {time.time()}", start=datetime.now(UTC))
    fresh.user("A session that begins while the list is open")
    fresh.assistant("Indeed.")
    page.locator(f"tr[data-uid='{fresh.uid}']").wait_for()
    page.goto(f"{site.base}/session/{quote(fresh.uid)}")
    page.get_by_text("Indeed.").wait_for()
    fresh.assistant("And it goes on.")
    page.get_by_text("And it goes on.").wait_for()


def test_an_open_page_outlives_its_server(browser: Browser, site: Site) -> None:
    first = Site(site.home)
    context = browser.new_context()
    page = context.new_page()
    page.goto(first.address)
    page.goto(f"{first.base}/sessions")
    page.wait_for_timeout(300)
    assert first.end() == 0
    page.locator(".broken").wait_for(state="visible")
    again = Site(site.home, port=int(first.base.rpartition(":")[2]))
    page.locator(".broken").wait_for(state="hidden")
    page.reload()
    assert page.locator("tr[data-uid]").count() > 3
    context.clear_cookies()
    page.reload()
    page.get_by_text("Open this page again").wait_for()
    context.close()
    assert again.end() == 0


def test_a_stream_tells_of_a_change_and_needs_the_token(site: Site) -> None:
    assert site.get("/live", token="wrong").status == 401
    assert site.get("/live", origin="https://evil.example").status == 403


def test_a_cookie_ends(site: Site) -> None:
    set_cookie = site.get(f"/?token={site.token}", token="").headers["set-cookie"]
    cookie = set_cookie.partition(";")[0]
    name, _, value = cookie.partition("=")
    assert site.get("/sessions", token="", cookie=cookie).status == 200
    ends, _, signed = value.partition(".")
    for wrong in (f"{int(ends) + 1}.{signed}", f"{ends}.", f"1.{signed}", ".", "x.y", stable_uuid("x")):
        assert site.get("/sessions", token="", cookie=f"{name}={wrong}").status == 401
