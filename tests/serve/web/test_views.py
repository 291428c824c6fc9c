"""What the views of usage, meaning, what was learned, health and settings say, asked as a program asks."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from recollect import Memory
from recollect.insights.retro.report import Overhead
from recollect.serve.web import usage_page
from recollect.serve.web.plots import LEGEND_CHARS, Bars, draw_bars, draw_plot, in_dollars
from recollect.serve.web.text import markdown
from recollect.serve.web.usage_page import PLOT_SIZE
from recollect.visible import hide, hide_nothing
from tests.serve.web import views
from tests.serve.web.conftest import Site
from tests.serve.web.lived_in import ASKED, FILE, REPO, SECRET


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    running = Site(tmp_path_factory.mktemp("empty") / "memory")
    yield running
    assert running.end() == 0


def form_of(page: str, said: str) -> dict[str, str]:
    """Return what the forms under an article that says something send along."""
    article = next(one for one in page.split("<article")[1:] if said in one)
    fields = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', article)
    return {name: html.unescape(value) for name, value in fields}


# Usage


def test_the_days_of_usage_add_up_to_its_table(site: Site) -> None:
    rows = list(csv.DictReader(io.StringIO(site.get("/usage.csv?period=1y&by=model").text)))
    days = list(csv.DictReader(io.StringIO(site.get("/usage.csv?period=1y&by=model&each=day").text)))
    assert rows
    for row in rows:
        own = [day for day in days if day["model"] == row["model"]]
        assert sum(int(day["responses"]) for day in own) == int(row["responses"])


def test_a_row_of_usage_leads_to_the_sessions_behind_it(site: Site) -> None:
    page = site.get("/usage?period=1y&by=model").text
    assert " style=" not in page
    behind = re.search(r'<a href="(/usage/sessions\?[^"]*)">', page)
    assert behind is not None
    assert 'href="/session/' in site.get(html.unescape(behind[1])).text


@pytest.mark.parametrize(
    "path",
    [
        "/usage?by=weather", "/usage?first=x", "/usage?first=2026-03-02&last=2026-03-01", "/usage?first=0001-01-01",
        "/activity?first=9999-12-31&last=9999-12-31", "/usage.csv?first=x", "/activity/sessions?weekday=7&hour=1",
        "/activity/sessions?weekday=1&hour=%C2%B2", "/decisions?at=x", "/settings/agents?mode=x", "/retro?first=2026",
    ],
)  # fmt: skip
def test_what_is_no_span_or_choice_is_said(site: Site, path: str) -> None:
    page = site.get(path)
    assert page.status in (200, 400)
    assert "Traceback" not in page.text


def test_a_day_and_an_hour_lead_to_their_sessions(site: Site) -> None:
    page = site.get("/activity?period=1y").text
    day = re.search(r'class="level-[1-4]" href="(/sessions\?[^"]*)"', page)
    hour = re.search(r'class="level-[1-4]" href="(/activity/sessions\?[^"]*)"', page)
    assert day is not None
    assert hour is not None
    for found in (day, hour):
        assert 'class="outcome' in site.get(html.unescape(found[1])).text
    assert 'class="outcome' not in site.get("/sessions?after=2001-01-01&before=2001-01-31").text


# Meaning


def test_each_line_of_a_file_is_told_with_what_was_asked_or_that_nothing_proves_it(site: Site) -> None:
    page = site.get(f"/blame?{urlencode({'repo': REPO, 'path': FILE})}").text
    rows = re.findall(r'<tr class="([^"]*)">\s*<td class="by".*?</td>.*?<code>(.*?)</code>', page, re.DOTALL)
    told = {html.unescape(text).strip(): kinds for kinds, text in rows}
    assert "mark-" in told["def delays():"]
    assert "mark-" in told["return [2**number for number in range(5)]"]
    assert any("none" in kinds for text, kinds in told.items() if text.startswith("# written by hand"))
    assert ASKED[:30] in page


def test_a_file_that_is_gone_is_told_by_its_edits(site: Site) -> None:
    listed = site.get("/blame?repo=shop-api").text
    found = re.search(r'href="(/blame\?repo=shop-api&amp;path=[^"]*)"', listed)
    assert found is not None
    page = site.get(html.unescape(found[1])).text
    assert "not there any more" in page
    assert "<article" in page


@pytest.mark.parametrize("path", ["/etc/passwd", "../../etc/passwd", "nothing.py"])
def test_a_file_that_no_agent_edited_is_not_shown(site: Site, path: str) -> None:
    assert site.get(f"/blame?{urlencode({'repo': REPO, 'path': path})}").status == 404


def test_an_error_is_told_with_what_fixed_it(site: Site) -> None:
    page = site.get("/errors/content?period=1y&q=NameError").text
    assert page.count("<article") == 1
    assert FILE in page
    assert "then worked" in page
    assert "No error matches" in site.get("/errors/content?period=1y&q=NameError&fixed=no").text


def test_a_decision_has_a_page_with_its_chain(site: Site) -> None:
    page = site.get("/decisions?period=all").text
    name = re.search(r'href="(/decisions/decision[^"]*)"', page)
    assert name is not None
    assert "found by" in site.get(html.unescape(name[1])).text
    assert site.get("/decisions/decision:nothing").status == 404


# Learned


def test_an_action_is_ticked_off_and_listed_as_done(site: Site) -> None:
    form = form_of(site.get("/actions?repo=shop").text, "Measure the retries")
    assert form["here"] == "repo=shop"
    assert site.get("/actions", form=urlencode({**form, "verdict": "done", "form_token": "wrong"})).status == 403
    done = site.get("/actions", form=urlencode({**form, "verdict": "done"}))
    assert (done.status, done.headers["location"]) == (303, "/actions?repo=shop")
    assert "Measure the retries" not in site.get("/actions").text
    assert "Measure the retries" in site.get("/actions?state=ended").text


def test_a_fact_ends_and_another_never_held(site: Site) -> None:
    form = form_of(site.get("/facts").text, "PostgreSQL")
    assert site.get("/facts", form=urlencode({**form, "verdict": "end"})).status == 303
    assert "PostgreSQL" not in site.get("/facts").text
    assert "until" in site.get("/facts?view=history&q=PostgreSQL").text
    assert site.get("/facts", form=urlencode({**form, "verdict": "retract"})).status == 303
    assert "never held" in site.get("/facts?view=history&q=PostgreSQL").text
    assert site.get("/facts", form=urlencode({**form, "verdict": "burn"})).status == 400


def test_a_document_is_read_part_by_part(site: Site) -> None:
    found = re.search(r'href="(/entry/[^"]*)"', site.get("/documents?collection=handbook").text)
    assert found is not None
    assert "ten seconds" in site.get(found[1]).text
    assert site.get("/documents?collection=nothing").status == 404
    assert site.get("/entry/document:nothing").status == 404


def test_a_learning_has_a_page_with_its_evidence(site: Site) -> None:
    found = re.search(r'href="(/learnings/[^"]*)"', site.get("/learnings").text)
    assert found is not None
    assert "Evidence" in site.get(found[1]).text
    assert site.get("/learnings/nothing").status == 404


# Health and settings


def test_secrets_are_counted_and_never_shown(site: Site) -> None:
    assert "github token" in site.get("/health/secrets").text
    for path in (*views.VIEWS.values(), *views.PARTS):
        assert SECRET not in site.get(path).text


def test_settings_say_where_each_value_comes_from(site: Site) -> None:
    page = site.get("/settings").text
    assert "named by RECOLLECT_HOME" in page
    assert re.search(r"enabled = false.*?from the file", page, re.DOTALL)
    assert re.search(r"idle_seconds = 300.*?default", page, re.DOTALL)


def test_what_setup_would_write_is_shown_and_not_written(site: Site) -> None:
    before = {path: path.stat().st_mtime_ns for path in (site.home / ".claude").rglob("*")}
    for mode in ("both", "pull", "push", "remove"):
        assert site.get(f"/settings/agents/plan?agent=claude&mode={mode}").status == 200
    assert {path: path.stat().st_mtime_ns for path in (site.home / ".claude").rglob("*")} == before
    assert site.get("/settings/agents/plan?agent=nobody").status == 404


# All of them


@pytest.mark.parametrize("view", views.VIEWS)
def test_an_empty_home_has_every_view(empty: Site, view: str) -> None:
    missing = view in ("blame", "a collection")
    page = empty.get(views.VIEWS[view])
    assert page.status == (404 if missing else 200), page.text
    assert "Traceback" not in page.text


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/usage/days?by=model&days=400", "days"), ("/activity?days=400", "hours"), ("/files", "files"),
        (f"/blame?repo={REPO}&path={quote(FILE)}", "lines"), ("/retro?days=400", "errors"), ("/actions", "actions"),
        ("/facts?is_history=true", "facts"), ("/diary", "entries"), ("/documents", "collections"),
        ("/documents/handbook", "files"), ("/stats", "agents"), ("/doctor", "checks"), ("/agents", "agents"),
        ("/ingest", "sources"), ("/log", "entries"), ("/storage", "tiers"), ("/retention", "sessions"),
        ("/settings", "entries"), ("/setup/claude", "steps"),
    ],
)  # fmt: skip
def test_the_same_comes_as_json(site: Site, path: str, key: str) -> None:
    answer = site.get(f"/api/v1{path}")
    assert answer.status == 200, answer.text
    assert key in json.loads(answer.text)
    assert SECRET not in answer.text


def test_a_home_is_not_made_by_looking_at_settings(tmp_path: Path) -> None:
    running = Site(tmp_path / "memory")
    try:
        before = {path for path in running.home.rglob("*") if path.name != "http-token"}
        assert running.get("/settings").status == 200
        assert {path for path in running.home.rglob("*") if path.name != "http-token"} == before
    finally:
        assert running.end() == 0


def test_a_legend_fits_its_plot_however_long_the_names_are() -> None:
    models = [f"claude-sonnet-4-{number}-20250929" for number in range(5)]
    repos = [f"{number}-{'long' * 20}" for number in range(6)]
    for names in (models, repos):
        heights = {name: [1.0, 2.0, 3.0] for name in names}
        colours = dict.fromkeys(names, "first")
        bars = Bars(["a", "b", "c"], heights, colours, "cost (USD)", format_values=in_dollars, size=PLOT_SIZE)
        svg = draw_plot("p", "P", partial(draw_bars, bars=bars), is_placed=True)
        shown = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
        told = [text for text in shown if text.startswith(("claude", *"012345")) and "-" in text]
        assert len(told) == len(names)
        assert sum(map(len, told)) <= LEGEND_CHARS
        assert not any("20250929" in text for text in told)
        assert "cost (USD)" not in shown, "the figures of the axis say what they are"


def test_figures_of_an_axis_have_equal_decimals_and_differ() -> None:
    bars = Bars(["a", "b", "c"], {"x": [0.031, 0.012, 0.004]}, {"x": "first"}, "cost (USD)", format_values=in_dollars)
    shown = re.findall(r"<text[^>]*>(\$[^<]*)</text>", draw_plot("p", "P", partial(draw_bars, bars=bars)))
    assert len(shown) == len(set(shown)) > 3
    assert len({len(text.partition(".")[2]) for text in shown}) == 1


def test_a_plot_is_drawn_once_and_again_when_it_shows_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []

    def draw(name: str, *_args: object, **_options: object) -> str:
        drawn.append(name)
        return f"<svg>{len(drawn)}</svg>"

    monkeypatch.setattr(usage_page, "draw_plot", draw)
    bars = Bars(["a", "b", "c"], {"x": [1.0, 2.0, 3.0]}, {"x": "first"}, "hours", format_values=in_dollars)
    with Memory.open(tmp_path) as memory:
        first, again = (usage_page.plot_of(memory, "drawn-once", "P", bars) for _ in range(2))
        other = usage_page.plot_of(memory, "drawn-once", "P", bars._replace(heights={"x": [1.0, 2.0, 3.5]}))
    assert first == again == ("<svg>1</svg>", "")
    assert other == ("<svg>2</svg>", "")


def test_a_name_that_is_hidden_later_is_hidden_in_what_was_shown_before() -> None:
    assert "zqhiddenqz" in markdown("the path zqhiddenqz")
    hide({"zqhiddenqz": "[a secret]"})
    try:
        assert "zqhiddenqz" not in markdown("the path zqhiddenqz")
    finally:
        hide_nothing()


def test_the_retrospective_says_of_corrections_and_infrastructure_what_the_terminal_says(site: Site) -> None:
    page = html.unescape(site.get("/retro/content?period=1y").text)
    assert ">1 correction that a person made between turns<" in page
    assert f"infrastructure; {Overhead().told[1]}." in page
