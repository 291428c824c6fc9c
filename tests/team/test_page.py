"""The team in the web page, in a real Chromium: two memories, a server and a database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.serve.web.conftest import HOSTILE_TEXT, Site
from tests.team.conftest import Machine, Server, Team

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

VIEWS = (
    "/team", "/team?q=checkout", "/team?q=nothing-like-it", "/team/sessions", "/team/sessions?repo=none",
    "/team/decisions", "/team/usage?period=1y", "/team/members", "/team/audit",
)  # fmt: skip


@pytest.fixture
def ada(machine: Callable[[str], Machine], team: Team, server: Server) -> Machine:
    made = machine("analytical engine")
    made.session("one", "Why does the checkout leak?", f"Never use tabs in this repository. {HOSTILE_TEXT}")
    made.join(server, team.invite("ada <b>lovelace</b>/#"))
    made.share("full")
    made.memory.team.push()
    return made


@pytest.fixture
def grace(machine: Callable[[str], Machine], team: Team, server: Server) -> Iterator[Site]:
    made = machine("harvard")
    made.join(server, team.invite("grace", "owner"))
    running = Site(made.folder / "recollect")
    yield running
    assert running.end() == 0


@pytest.fixture
def page(browser: Browser, grace: Site) -> Iterator[Page]:
    """A page of grace's that fails where the browser reports an error or asks anybody else."""
    context = browser.new_context()
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("request", lambda asked: None if asked.url.startswith(grace.base) else problems.append(asked.url))
    opened.goto(grace.address)
    yield opened
    context.close()
    assert problems == []


def test_what_another_shares_is_found_opened_and_the_reading_told(ada: Machine, grace: Site, page: Page) -> None:
    page.get_by_role("link", name="Team", exact=True).click()
    page.locator("#q").fill("checkout leak")
    page.keyboard.press("Enter")
    page.wait_for_selector("mark")
    assert "ada <b>lovelace</b>/# on analytical engine" in page.locator("article").first.inner_text()
    page.locator("article h2 a").first.click()
    page.wait_for_selector(".unit.focus")
    assert "checkout" in page.locator(".unit.focus").inner_text()
    assert "can see that you opened this" in page.locator("main").inner_text()
    page.get_by_text("The whole session").click()
    page.get_by_text("Never use tabs").first.wait_for()
    assert page.title() != "run"
    assert page.locator("main").locator("script, img, svg, [onerror]").count() == 0
    with_actions = {(line.person, line.action) for line in ada.memory.team.audit().lines if line.subject}
    assert with_actions == {("grace", "search"), ("grace", "show")}


def test_each_page_of_the_team_says_what_it_shows(ada: Machine, grace: Site, page: Page) -> None:
    def said(path: str) -> str:
        page.goto(grace.base + path)
        return page.locator("main").inner_text()

    assert "checkout" in said("/team/sessions")
    assert "Never use tabs" in said("/team/decisions")
    assert "fewer than four people" in said("/team/usage")
    assert "shop: full" in said("/team/members")
    assert "search checkout" in said("/team?q=checkout") + said("/team/audit")
    page.goto(f"{grace.base}/team/decisions")
    page.locator("a.statement").first.click()
    page.wait_for_selector(".unit.focus")


def test_every_page_of_the_team_fits_a_small_screen_and_passes_the_accessibility_check(
    ada: Machine, grace: Site, page: Page
) -> None:
    page.goto(f"{grace.base}/team/sessions")
    session = page.locator("td a").first.get_attribute("href")
    for view in (*VIEWS, str(session)):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            for width in (380, 1280):
                page.set_viewport_size({"width": width, "height": 800})
                page.goto(grace.base + view)
                assert page.evaluate("document.documentElement.scrollWidth") <= width, view
            found = Axe().run(page).response["violations"]
            serious = [
                (one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")
            ]
            assert serious == [], view


@pytest.mark.parametrize("path", ["/team", "/team/sessions", "/team/session/ada/x/claude:1", "/team/audit"])
def test_a_memory_without_a_team_says_so(machine: Callable[[str], Machine], path: str) -> None:
    running = Site(machine("alone").folder / "recollect")
    answer = running.get(path)
    assert running.end() == 0
    assert answer.status == 200
    assert "has joined no team" in answer.text


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/team/session/ada", "cites nothing of a team"), ("/team/session/ada/x/claude:1", "is not among"),
        ("/team/usage?by=day", "no figures by"), ("/team/sessions?agent=nobody", "nobody"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_said(ada: Machine, grace: Site, path: str, said: str) -> None:
    answer = grace.get(path)
    assert answer.status in (400, 404, 503)
    assert said in answer.text
