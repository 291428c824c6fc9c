"""The page in a real Chromium: keys, live search, endless lists, small screens, and that hostile text stays text."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.serve.web import views
from tests.serve.web.conftest import HOSTILE, LONG, RICH, Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

VIEWS = {
    "start": "/",
    "results": "/?q=webhook",
    "sessions": "/sessions",
    **views.VIEWS,
    "session": f"/session/{quote(HOSTILE)}",
    "rich session": f"/session/{quote(RICH)}",
    "event": f"/session/{quote(HOSTILE)}/event/1",
    "not found": "/session/claude:nothing",
}


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_fits_a_small_screen_and_passes_the_accessibility_check(page: Page, site: Site, view: str) -> None:
    page.set_viewport_size({"width": 380, "height": 800})
    page.goto(site.base + VIEWS[view])
    for width in (380, 1280, 2560):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        found = Axe().run(page).response["violations"]
        grave = [one for one in found if one["impact"] in ("serious", "critical")]
        assert [(scheme, one["id"], one["nodes"][0]["html"]) for one in grave] == []


def test_results_come_while_one_types_and_the_address_follows(page: Page) -> None:
    page.locator("#q").press_sequentially("webhook")
    page.wait_for_selector("mark")
    page.wait_for_function("() => location.search === '?q=webhook'")
    page.reload()
    assert page.locator("#q").input_value() == "webhook"
    assert page.locator("mark").count() > 0


def test_keys_lead_from_a_question_to_the_line_that_answers(page: Page) -> None:
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("webhook")
    page.wait_for_selector("mark")
    page.wait_for_function("() => location.search === '?q=webhook'")  # no answer to a part of it comes any more
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector(".unit.focus")
    seq = page.evaluate("location.hash").removeprefix("#")
    assert page.locator(".unit.focus").get_attribute("id") == seq
    page.go_back()
    page.wait_for_selector("mark")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()


def test_a_server_that_ends_under_an_open_page_is_told(browser: Browser, site: Site) -> None:
    other = Site(site.home)
    context = browser.new_context()
    page = context.new_page()
    page.goto(other.address)
    assert other.end() == 0
    page.locator("#q").fill("webhook")
    page.get_by_text("not served any more").wait_for()
    context.close()


def test_two_tabs_search_apart(page: Page, site: Site) -> None:
    second = page.context.new_page()
    second.goto(site.base)
    second.locator("#q").fill("qqxzzy")
    page.locator("#q").fill("webhook")
    page.wait_for_selector("mark")
    second.get_by_text("Nothing found in").wait_for()
    second.close()


def test_hostile_text_is_only_text(page: Page, site: Site) -> None:
    for path in ("/?q=zhostile", f"/session/{quote(HOSTILE)}", f"/session/{quote(HOSTILE)}/event/1"):
        page.goto(site.base + path)
        page.wait_for_load_state("networkidle")
        assert page.title() != "run"
        main = page.locator("main")
        assert main.locator("script, img, svg, [onerror], [onload]").count() == 0
        assert main.locator("a[href^='javascript']").count() == 0
        shown = main.inner_text()
        assert "<script>" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_a_long_transcript_goes_on_while_it_is_scrolled(page: Page, site: Site) -> None:
    page.goto(f"{site.base}/session/{quote(LONG)}")
    assert page.locator(".transcript").get_by_text("answer number 149").count() == 0
    while not page.locator(".transcript").get_by_text("answer number 149").count():
        page.mouse.wheel(0, 4000)
        page.wait_for_timeout(20)
    seqs = page.locator(".unit").evaluate_all("units => units.map(unit => Number(unit.id))")
    assert seqs == sorted(set(seqs))


def test_the_outline_leads_to_a_turn_that_is_not_loaded_yet(page: Page, site: Site) -> None:
    page.goto(f"{site.base}/session/{quote(LONG)}")
    page.locator(".outline").get_by_text("request number 140", exact=True).click()
    page.wait_for_selector(".unit.focus")
    assert "request number 140" in page.locator(".unit.focus").inner_text()
    assert page.locator(".unit.focus").evaluate("unit => unit.getBoundingClientRect().top >= 0")


@pytest.mark.parametrize("view", views.VIEWS)
def test_hostile_text_is_only_text_in_every_view(page: Page, site: Site, view: str) -> None:
    page.goto(site.base + views.VIEWS[view])
    page.wait_for_load_state("networkidle")
    assert page.title() != "run"
    main = page.locator("main")
    assert main.locator("script, img, [onerror], [onload], a[href^='javascript']").count() == 0
    shown = main.inner_text()
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    if view in ("blame", "errors", "to do", "facts", "diary"):
        assert "<img" in shown


def test_a_retrospective_comes_while_the_page_is_there(page: Page, site: Site) -> None:
    page.goto(f"{site.base}/retro?period=1y")
    page.get_by_role("heading", name="How sessions came out").wait_for()
    assert page.locator(".later").count() == 0


def test_a_bar_leads_to_its_sessions(page: Page, site: Site) -> None:
    page.goto(f"{site.base}/usage?period=1y&by=model")
    bar = page.locator(".plot a").first
    address = bar.get_attribute("xlink:href") or bar.get_attribute("href")
    assert address is not None
    page.goto(site.base + address)
    page.locator("td a[href^='/session/']").first.click()
    page.wait_for_selector(".transcript")


def test_the_setup_of_an_agent_shows_what_would_be_written(page: Page, site: Site) -> None:
    page.goto(f"{site.base}/settings/agents")
    page.locator(".plan").first.wait_for()
    assert "recollect setup claude" in page.locator(".plan").first.inner_text()
    assert page.locator(".plan .diff .add").count() > 0
