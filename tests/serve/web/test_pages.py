"""What the pages say, asked as a program asks."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest

from tests.serve.web import views
from tests.serve.web.conftest import HOSTILE, LONG, Site

PATHS = (
    "/",
    "/?q=webhook",
    "/sessions",
    *views.VIEWS.values(),
    f"/session/{quote(HOSTILE)}",
    f"/session/{quote(HOSTILE)}/event/1",
)


@pytest.mark.parametrize(
    "path", [*PATHS, *views.PARTS, "/results?q=webhook", "/sessions/rows", f"/session/{quote(LONG)}/events"]
)
def test_every_page_needs_the_token_and_this_machine(site: Site, path: str) -> None:
    assert site.get(path).status == 200
    assert site.get(path, token="wrong").status == 401
    assert site.get(path, host="evil.example").status == 403
    assert site.get(path, origin="https://evil.example").status == 403


@pytest.mark.parametrize("path", PATHS)
def test_a_page_names_nothing_outside_and_forbids_what_it_does_not_need(site: Site, path: str) -> None:
    page = site.get(path)
    loaded = re.findall(r'<(?:link|script|img)[^>]*(?:href|src)="([^"]*)"', page.text)
    assert loaded
    assert all(address.startswith("/static/") for address in loaded)
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert page.headers["cache-control"] == "no-store"


def test_a_browser_that_is_not_let_in_reads_what_to_do(site: Site) -> None:
    page = site.get("/sessions", token="", cookie="recollect-pages=old")
    assert page.status == 401
    assert page.headers["www-authenticate"] == "Bearer"
    assert "recollect ui" in page.text
    assert "webhook" not in page.text


def test_the_link_with_the_token_leads_to_the_same_page_without_it(site: Site) -> None:
    first = site.get(f"/?token={site.token}&q=webhook", token="")
    assert (first.status, first.headers["location"]) == (303, "/?q=webhook")
    assert "HttpOnly" in first.headers["set-cookie"]
    assert site.get("/?q=webhook", token="", cookie=first.headers["set-cookie"].partition(";")[0]).status == 200


def test_a_search_shows_hits_by_session_with_marked_words_and_links_to_the_event(site: Site) -> None:
    page = site.get("/?q=webhook").text
    assert "<mark>" in page
    link = re.search(r'<a class="cite" href="(/session/[^"]*\?at=(\d+)#\2)"', page)
    assert link is not None
    assert f'id="{link[2]}"' in site.get(link[1].partition("#")[0]).text


def test_a_filter_writes_itself_into_the_query_and_out_of_it(site: Site) -> None:
    page = site.get("/?q=webhook").text
    assert 'href="/?q=webhook+kind%3Atool_call"' in page
    filtered = site.get("/?q=webhook+kind%3Atool_call").text
    assert re.search(r'<a class="chip" href="/\?q=webhook" title="kind:tool_call" aria-current="true">', filtered)


def test_nothing_found_says_so(site: Site) -> None:
    assert "Nothing found" in site.get("/results?q=qqxzzy").text


def test_a_call_and_its_result_are_one_unit_and_a_long_output_is_cut(site: Site) -> None:
    page = site.get(f"/session/{quote(HOSTILE)}").text
    unit = re.search(r"<section[^>]*class=\"unit tool[^>]*>(.*?)</section>", page, re.DOTALL)
    assert unit is not None
    assert "echo &#39;&lt;b&gt;bold&lt;/b&gt;&#39;" in unit[1]
    assert unit[1].count("&lt;b&gt;bold&lt;/b&gt;\n") < 100
    more = re.search(r'href="([^"]*/event/\d+)">[^<]* more</a>', unit[1])
    assert more is not None
    whole = re.search(r"<pre[^>]*>(.*?)</pre>", site.get(more[1]).text, re.DOTALL)
    assert whole is not None
    assert whole[1].count("&lt;b&gt;bold&lt;/b&gt;") == 200


def test_a_transcript_comes_in_pieces_that_follow_each_other(site: Site) -> None:
    path, seen = f"/session/{quote(LONG)}", []
    while path:
        page = site.get(path).text
        seen += [int(seq) for seq in re.findall(r'<section id="(\d+)"', page)]
        found = re.search(r'data-more="([^"]*)" data-side="after"', page)
        path = found[1] if found else ""
    assert seen == sorted(set(seen))
    assert "answer number 149" in page


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/session/claude:nothing", "nothing"),
        (f"/session/{quote(LONG)}/event/99999", "99999"),
        ("/sesions", "/sesions"),
    ],
)
def test_what_is_not_there_is_a_page_that_says_so(site: Site, path: str, said: str) -> None:
    page = site.get(path)
    assert page.status == 404
    assert "Not found" in page.text
    assert said in page.text
    assert "Traceback" not in page.text


def test_the_table_of_usage_comes_as_csv(site: Site) -> None:
    answer = site.get("/usage.csv?period=1y&by=model")
    assert answer.headers["content-type"].startswith("text/csv")
    head, *rows = answer.text.splitlines()
    assert head == "model,input_tokens,output_tokens,cache_read_tokens,responses,cost_usd"
    assert rows


@pytest.mark.parametrize("query", ["?after=x", "?offset=-1", "?offset=x", "?agent=nobody", "?repo=%00"])
def test_an_odd_address_is_answered(site: Site, query: str) -> None:
    assert site.get(f"/sessions{query}").status in (200, 400, 404)


def test_a_learning_is_retired_by_the_pages_own_form_and_by_no_other(site: Site) -> None:
    page = site.get("/learnings").text
    own = re.search(r'name="form_token" value="([^"]*)"><input type="hidden" name="id" value="([^"]*)">', page)
    assert own is not None
    wish = f"id={own[2]}&verdict=retire"
    assert site.get("/learnings", form=wish).status == 403
    assert site.get("/learnings", form=f"{wish}&form_token=wrong").status == 403
    assert site.get("/learnings", form=f"{wish}&form_token={own[1]}", token="wrong").status == 401
    assert site.get("/learnings", form=f"{wish}&form_token={own[1]}", origin="https://evil.example").status == 403
    assert site.get("/learnings").text == page, "nothing changed"
    assert site.get("/learnings", form=f"{wish}&form_token={own[1]}").status == 303
    assert own[2] not in site.get("/learnings").text


@pytest.mark.parametrize("wish", ["verdict=retire&id=nothing", "verdict=correct&id=nothing&text=", "verdict=x", ""])
def test_a_form_that_cannot_be_is_answered_with_a_page(site: Site, wish: str) -> None:
    token = re.search(r'name="form_token" value="([^"]*)"', site.get("/learnings").text)
    assert token is not None
    answer = site.get("/learnings", form=f"{wish}&form_token={token[1]}")
    assert answer.status == 400
    assert "This was not done" in answer.text


def test_a_form_has_a_limit(site: Site) -> None:
    assert site.get("/learnings", form="x=" + "a" * 100_000).status == 413
