"""The JSON under `/api/v1`: the same answers as the command line gives, and a document that describes them."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from recollect.serve.web.api import ENDPOINTS, PREFIX
from tests.serve.web.conftest import LONG, Site


def asked(site: Site, path: str) -> tuple[int, Any]:
    answer = site.get(PREFIX + path)
    assert answer.headers["content-type"] == "application/json"
    return answer.status, json.loads(answer.text)


def test_a_search_gives_what_the_search_gives(site: Site) -> None:
    code, answer = asked(site, "/search?query=webhook&limit=2")
    assert code == 200
    assert len(answer["hits"]) == 2
    assert answer["query"] == "webhook"


def test_lists_are_parameters_said_again(site: Site) -> None:
    _, both = asked(site, "/sessions?agents=claude&agents=codex")
    _, one = asked(site, "/sessions?agents=codex")
    assert {session["agent"] for session in both["sessions"]} == {"claude", "codex"}
    assert {session["agent"] for session in one["sessions"]} == {"codex"}


def test_a_session_comes_page_by_page(site: Site) -> None:
    _, first = asked(site, f"/sessions/{quote(LONG)}?limit=3")
    _, second = asked(site, f"/sessions/{quote(LONG)}?limit=3&first={first['next_seq']}")
    assert len(first["events"]) == len(second["events"]) == 3
    assert second["events"][0]["seq"] == first["next_seq"]


@pytest.mark.parametrize(
    "path", ["/usage?by=model", "/decisions", "/learnings?kinds=preference", "/decisions?is_sure=true"]
)
def test_the_rest_is_answered_too(site: Site, path: str) -> None:
    assert asked(site, path)[0] == 200


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("/search", 400, "query"),
        ("/search?query=x&limit=many", 400, "limit"),
        ("/search?query=x&color=red", 400, "color"),
        ("/search?query=repo:nowhere+x", 404, "nowhere"),
        ("/sessions/claude:nothing", 404, "nothing"),
        ("/entries/learning:nothing", 404, "nothing"),
        ("/sesions", 404, "/api/v1/sesions"),
        ("/usage?by=weather", 400, "weather"),
    ],
)
def test_what_cannot_be_answered_says_why(site: Site, path: str, code: int, said: str) -> None:
    got, answer = asked(site, path)
    assert got == code
    assert said in answer["error"]["message"]
    assert answer["error"]["code"]


@pytest.mark.parametrize("endpoint", [endpoint.path for endpoint in ENDPOINTS])
def test_every_endpoint_needs_the_token_and_is_described(site: Site, endpoint: str) -> None:
    assert site.get(f"{PREFIX}{endpoint}", token="wrong").status == 401
    _, document = asked(site, "/openapi.json")
    operation = document["paths"][endpoint]["get"]
    answer = operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
    assert answer.rpartition("/")[2] in document["components"]["schemas"]
    in_path = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
    assert in_path == {endpoint.partition("{")[2].rstrip("}")} - {""}
