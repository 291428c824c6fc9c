"""One session: find within it, records, images, exports, its outline, and a window that moves over a long one."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
import pytest

from recollect import Memory
from recollect.memory import DecisionQuestion
from recollect.model.insights.nodes import DecisionState
from recollect.serve.web import session_page
from tests.serve.web.conftest import ENDLESS, ENDLESS_TURNS, HOSTILE, IMAGE, LONG, RICH, SECRET, UNDONE, Site

if TYPE_CHECKING:
    from playwright.sync_api import Page

HELD: tuple[DecisionState, ...] = ("holds", "contradicted", "superseded", "reversed")
RICH_PATH = f"/session/{quote(RICH)}"
LONG_PATH = f"/session/{quote(LONG)}"


def seq_of(site: Site, gist: str) -> int:
    """Return the number of the call whose line says this."""
    page = site.get(RICH_PATH).text
    found = re.search(rf'<section id="(\d+)"[^>]*>(?:(?!</section>).)*<span class="gist">{gist}', page, re.DOTALL)
    assert found is not None
    return int(found[1])


def test_an_image_of_a_transcript_is_shown_and_a_drawing_that_calls_itself_one_is_not(site: Site) -> None:
    images = re.findall(r'<img src="([^"]*)"', site.get(RICH_PATH).text)
    assert len(images) == 2
    shown, refused = (site.get(address) for address in images)
    assert (shown.status, shown.headers["content-type"]) == (200, "image/png")
    assert shown.data.startswith(b"\x89PNG")
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert refused.status == 404
    assert site.get(images[0], token="wrong").status == 401
    assert site.get(images[0].rpartition("/")[0] + "/" + "0" * 64).status == 404
    assert IMAGE not in site.get(RICH_PATH).text


def test_the_record_of_an_event_is_shown_without_its_secrets(site: Site) -> None:
    seq = seq_of(site, "env")
    result = max(int(one) for one in re.findall(rf'data-seqs="{seq} ([\d ]+)"', site.get(RICH_PATH).text)[0].split())
    page = site.get(f"{RICH_PATH}/event/{result}").text
    assert "GITHUB_TOKEN" in page
    assert SECRET not in page
    assert "toolUseResult" in page


def test_a_long_output_is_folded_with_its_size(site: Site) -> None:
    unit = re.search(r"<section[^>]*>(?:(?!</section>).)*cat all.log.*?</section>", site.get(RICH_PATH).text, re.DOTALL)
    assert unit is not None
    assert re.search(r"<summary>.*\d kB", unit[0], re.DOTALL)
    assert "<details>" in unit[0]


def test_the_outline_has_errors_with_what_fixed_them_edits_and_turns(site: Site) -> None:
    with Memory.open(site.home) as memory:
        marks = memory.browse.outline(memory.session(RICH), family=(), decided=(), limit=100).marks
    assert [mark.kind for mark in marks if mark.kind != "error"] == ["turn", "edit"]
    page = site.get(f"{RICH_PATH}/outline").text
    assert "chart.py" in page


def test_an_error_of_the_outline_leads_to_where_the_same_call_worked(site: Site) -> None:
    with Memory.open(site.home) as memory:
        for session in memory.sessions(sync=False).sessions:
            marks = memory.browse.outline(session, family=(), decided=(), limit=100).marks
            fixed = [mark for mark in marks if mark.kind == "error" and mark.fixed_at is not None]
            if fixed:
                break
    page = site.get(f"/session/{quote(session.session_uid)}").text
    assert f'data-seq="{fixed[0].fixed_at}">works again at #{fixed[0].fixed_at}' in page
    assert f'<section id="{fixed[0].fixed_at}"' in page


def test_a_subagent_stands_in_the_outline_and_in_the_family_of_its_session(site: Site) -> None:
    with Memory.open(site.home) as memory:
        child = next(s for s in memory.sessions(limit=100, sync=False).sessions if s.parent_session)
    parent, own = (site.get(f"/session/{quote(uid)}").text for uid in (child.parent_session, child.session_uid))
    assert re.search(rf'<li class="subagent"><a href="/session/{quote(child.session_uid)}"', parent)
    for page in (parent, own):
        assert re.search(r'<ul class="tree">', page)
        assert f'href="/session/{quote(child.parent_session)}"' in page


def test_what_was_undone_is_marked_as_undone(site: Site) -> None:
    page = site.get(f"/session/{quote(UNDONE)}").text
    undone = re.findall(r'<section[^>]*class="unit said[^"]* undone[^"]*">.*?</section>', page, re.DOTALL)
    assert any("left behind" in unit and "undone</span>" in unit for unit in undone)
    assert not any("taken instead" in unit for unit in undone)
    assert "you went back from here" in page


@pytest.mark.parametrize(("form", "begins"), [("markdown", "# "), ("events", '{"'), ("claude-jsonl", '{"')])
def test_a_session_is_exported_as_the_command_does(site: Site, form: str, begins: str) -> None:
    answer = site.get(f"{RICH_PATH}/export?format={form}")
    assert answer.status == 200
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.text.startswith(begins)
    assert SECRET not in answer.text
    with Memory.open(site.home) as memory:
        assert answer.data == b"".join(memory.maintenance.export_bytes(RICH, format=form))


@pytest.mark.parametrize("path", [f"{RICH_PATH}/export?format=raw", f"{RICH_PATH}/export"])
def test_exact_bytes_are_not_given_out_by_the_page(site: Site, path: str) -> None:
    assert site.get(path).status == 400


def test_find_asks_the_server_for_what_is_not_loaded(site: Site) -> None:
    found = json.loads(site.get(f"{LONG_PATH}/find?q=NUMBER%20149").text)
    assert len(found["seqs"]) == 2
    assert found["next_seq"] is None
    assert json.loads(site.get(f"{LONG_PATH}/find?q=qqxzzy").text)["seqs"] == []
    assert site.get("/session/claude:nothing/find?q=x").status == 404
    assert site.get(f"{LONG_PATH}/find?q=x", token="wrong").status == 401


def test_find_looks_into_what_lies_in_the_archive(site: Site) -> None:
    assert len(json.loads(site.get(f"{RICH_PATH}/find?q=line%205999%20of").text)["seqs"]) == 1


def test_find_goes_on_in_the_next_request(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.memory.browse.FIND_S", -1.0)
    with Memory.open(site.home) as memory:
        session, seqs, at = memory.session(LONG), [], 0
        while at is not None:
            found = memory.browse.find(session, "answer number", first=at)
            seqs += found.seqs
            at = found.next_seq
        assert len(seqs) == len(set(seqs)) == 150


def test_a_page_comes_with_its_first_screen_and_the_rest_with_what_asks_for_it(page: Page, site: Site) -> None:
    came = site.get(LONG_PATH).text
    assert len(re.findall('<section id="', came)) <= session_page.FIRST
    assert len(re.findall('<li class="turn">', came)) <= session_page.OUTLINE_FIRST
    page.goto(site.base + LONG_PATH)
    page.locator(".outline li.turn").nth(session_page.OUTLINE_FIRST + 50).wait_for(state="attached")
    page.locator(".transcript .unit").nth(session_page.FIRST + 1).wait_for(state="attached")


def test_the_decisions_of_a_session_are_told_as_among_all(site: Site) -> None:
    with Memory.open(site.home) as memory:
        known = {
            view.decision.id: view for view in memory.decisions_facet.find(DecisionQuestion(states=HELD)).decisions
        }
        told = 0
        for session in memory.sessions(limit=100, sync=False).sessions:
            asked = DecisionQuestion(session=session.session_uid)
            views = memory.decisions_facet.of_session(session.session_uid)
            found = memory.decisions_facet.find(asked).decisions
            assert views == tuple(msgspec.structs.replace(view, episodes=(), later=()) for view in found)
            for view in views:
                told += view.decision.id in known
                assert view.links == known.get(view.decision.id, view).links
    assert told


def test_a_call_is_one_unit_with_its_result_wherever_a_piece_begins(site: Site) -> None:
    with Memory.open(site.home) as memory:
        session = memory.session(RICH)
        calls = {u.seq for u in session_page.piece(memory, session, 0)["units"] if u.shape == "tool"}
        for first in range(session.event_count):
            units = session_page.piece(memory, session, first)["units"]
            assert {u.seq for u in units if u.shape == "tool"} == {seq for seq in calls if seq >= first}
            assert all(u.output is not None for u in units if u.shape == "tool")


def test_pieces_before_and_after_a_place_leave_nothing_out(site: Site) -> None:
    with Memory.open(site.home) as memory:
        session = memory.session(LONG)
        whole = [u.seq for u in session_page.piece(memory, session, 0, below=10_000)["units"]]
        for at in (0, 1, 130, 299):
            before = session_page.piece(memory, session, at, above=10_000, below=0)["units"]
            after = session_page.piece(memory, session, at, below=10_000)["units"]
            assert [u.seq for u in (*before, *after)] == whole


def test_keys_find_within_a_session_beyond_what_is_loaded(page: Page, site: Site) -> None:
    page.goto(site.base + LONG_PATH)
    page.keyboard.press("f")
    page.keyboard.type("number 149")
    page.get_by_text("1 of 2 events").wait_for()
    page.locator(".unit.focus", has_text="request number 149").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("2 of 2 events").wait_for()
    page.locator(".unit.focus", has_text="answer number 149").wait_for()
    assert page.evaluate("CSS.highlights.get('found').size") == 2
    page.keyboard.press("Shift+Enter")
    page.get_by_text("1 of 2 events").wait_for()
    page.keyboard.press("Escape")
    assert not page.locator("form.find").is_visible()
    assert not page.evaluate("CSS.highlights.has('found')")


def test_a_key_shows_the_record_and_another_copies_a_citation(page: Page, site: Site) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{site.base}{RICH_PATH}?at=1#1")
    page.keyboard.press("c")
    page.get_by_text(f"Copied {RICH}#1").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == f"{RICH}#1"
    page.keyboard.press("r")
    page.wait_for_url("**/event/1#record")
    assert page.locator("#record pre").inner_text().startswith("{")
    page.go_back()
    page.keyboard.press("?")
    assert page.locator("#keys").get_by_text("find in this session").is_visible()


def test_the_outline_leads_to_a_place_without_another_page_and_back(page: Page, site: Site) -> None:
    page.goto(site.base + LONG_PATH)
    page.evaluate("window.isSame = true")
    page.locator(".outline").get_by_text("request number 140", exact=True).click()
    page.locator(".unit.focus", has_text="request number 140").wait_for()
    assert page.evaluate("window.isSame")
    page.locator(".outline [aria-current]").get_by_text("request number 140", exact=True).wait_for()
    assert page.locator(".outline [aria-current]").count() == 1
    page.locator(".outline").get_by_text("request number 3", exact=True).click()
    page.locator(".unit.focus", has_text="request number 3").wait_for()
    page.go_back()
    page.locator(".unit.focus", has_text="request number 140").wait_for()


def test_a_transcript_of_any_length_is_a_window_that_moves(page: Page, site: Site) -> None:
    page.goto(f"{site.base}/session/{quote(ENDLESS)}")
    transcript = page.locator(".transcript")
    last, first = (transcript.get_by_text(f"request number {n}", exact=True) for n in (ENDLESS_TURNS - 1, 0))
    for target, step in ((last, 3000), (first, -3000)):
        while not target.count():
            page.mouse.wheel(0, step)
            page.wait_for_timeout(20)
            seqs = page.locator(".unit").evaluate_all("units => units.map(unit => Number(unit.id))")
            assert seqs == sorted(set(seqs))
            assert page.locator(".piece").count() <= 10
    assert last.count() == 0, "what is far away is not kept"


def test_what_comes_above_does_not_move_what_is_read(page: Page, site: Site) -> None:
    page.goto(f"{site.base}/session/{quote(ENDLESS)}?at=901#901")
    page.locator(".piece >> nth=1").wait_for(state="attached")
    page.wait_for_timeout(300)
    place = "document.getElementById('901').getBoundingClientRect().top"
    assert 0 <= page.evaluate(place) <= 120


def test_hostile_records_are_only_text(page: Page, site: Site) -> None:
    page.goto(f"{site.base}/session/{quote(HOSTILE)}/event/1#record")
    main = page.locator("main")
    assert main.locator("script, img, svg, [onerror], [onload]").count() == 0
    assert "\u202e" not in main.inner_text()


def test_a_link_to_a_result_marks_the_call_that_it_belongs_to(site: Site) -> None:
    call = re.search(r'id="(\d+)" data-item data-seqs="\1 (\d+)', site.get(f"/session/{quote(RICH)}").text)
    assert call is not None
    linked = site.get(f"/session/{quote(RICH)}?at={call[2]}").text
    assert re.search(rf'id="{call[1]}"[^>]* focus"', linked)


def test_a_link_to_a_result_leads_to_the_call_that_it_belongs_to(page: Page, site: Site) -> None:
    address = f"{site.base}/session/{quote(RICH)}"
    page.goto(address)
    call, result = str(page.locator("[data-seqs]").last.get_attribute("data-seqs")).split()[:2]
    page.goto("about:blank")
    page.goto(f"{address}?at={result}#{result}")
    marked = page.locator(".unit.focus")
    assert marked.get_attribute("id") == call
    page.wait_for_function("() => document.querySelector('.unit.focus').getBoundingClientRect().top < innerHeight")
