"""What a broken, forged or hostile client sends is refused in words; nothing is lost, nothing shown to a stranger."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import pytest
import zstandard

from recollect.errors import ConfigError, TeamRefused, TeamUnavailable
from recollect.sharing.automatic import push_and_note, read_state
from tests.team.conftest import Machine, Server, Team


class Client:
    """Says exactly what it is told to."""

    def __init__(self, server: Server, machine: Machine) -> None:
        self._port = server.port
        self.token = machine.memory.team.membership().token

    def post(self, path: str, body: bytes, **headers: str) -> tuple[int, Any]:
        """Return the status and the answer. headers: with underscores for hyphens; "" leaves one out."""
        named = {"recollect-protocol": "1", "authorization": f"Bearer {self.token}"}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=120)) as connection:
            connection.request("POST", path, body, {name: value for name, value in named.items() if value})
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    def batch(self, **fields: Any) -> tuple[int, Any]:
        """Send a batch, made of `fields`, as the next one."""
        standing = self.post("/v1/standing", b"{}")[1]
        batch = {"number": standing["number"] + 1, "derivation_id": standing["derivation_id"], **fields}
        return self.post("/v1/batch", zstandard.compress(json.dumps(batch).encode()))


SESSION = {"session_uid": "claude:x", "level": "full", "stamp": 1, "agent": "claude", "repo": "shop", "is_last": True}
EVENT = {"event_id": "e", "part": 0, "seq": 3, "kind": "user_message", "text": "the leak"}


@pytest.fixture
def ada(machine: Callable[[str], Machine], team: Team, server: Server) -> Machine:
    made = machine("analytical")
    made.session("one", "Why does it leak?")
    made.join(server, team.invite("ada"))
    made.share("full")
    made.memory.team.push()
    return made


@pytest.fixture
def client(ada: Machine, server: Server) -> Client:
    return Client(server, ada)


def span(**fields: Any) -> dict[str, Any]:
    return {"session_uid": "claude:x", "first_seq": 0, "last_seq": 9, "events": [EVENT], **fields}


def test_a_batch_that_comes_twice_or_late_changes_nothing(client: Client, team: Team) -> None:
    number = client.post("/v1/standing", b"{}")[1]["number"]
    assert client.batch(sessions=[SESSION], spans=[span()])[1] == {"number": number + 1, "is_new": True}
    before = team.rows("SELECT * FROM recollect.event WHERE {mine} ORDER BY event_id")
    for late in (number + 1, number, 0):
        again = client.batch(number=late, withdrawn=["claude:x"])
        assert again == (200, {"number": number + 1, "is_new": False})
    assert team.rows("SELECT * FROM recollect.event WHERE {mine} ORDER BY event_id") == before


def test_a_batch_before_its_turn_is_refused(client: Client) -> None:
    status, answer = client.batch(number=99)
    assert status == 409
    assert "came before batch" in answer["error"]["message"]


def test_a_batch_of_another_memory_is_refused(client: Client) -> None:
    assert client.batch(derivation_id="another")[0] == 409


@pytest.mark.parametrize(
    "fields",
    [
        {"sessions": [{**SESSION, "level": "everything"}]},
        {"sessions": [{**SESSION, "event_count": -1}]},
        {"sessions": [{**SESSION, "stamp": 1 << 70}]},
        {"sessions": [SESSION], "spans": [span(session_uid="claude:unknown")]},
        {"sessions": [SESSION], "spans": [span(first_seq=4)]},
        {"sessions": [{**SESSION, "level": "distilled"}], "spans": [span()]},
        {"sessions": [SESSION], "spans": [span(events=[{**EVENT, "text": "x" * 70_000}])]},
        {"sessions": "none"},
    ],
)
def test_a_batch_that_is_wrong_is_refused_whole(client: Client, team: Team, fields: dict[str, Any]) -> None:
    status, answer = client.batch(**fields)
    assert status == 409
    assert answer["error"]["message"]
    assert team.rows("SELECT 1 FROM recollect.session WHERE {mine} AND session_uid = 'claude:x'") == []


def test_characters_that_postgresql_cannot_keep_are_replaced(client: Client, team: Team) -> None:
    said = "a\0b \\u0000 'quoted' \ud83d\ude00"
    assert (
        client.batch(sessions=[{**SESSION, "digest": {"x": "\0"}}], spans=[span(events=[{**EVENT, "text": said}])])[0]
        == 200
    )
    ((kept,),) = team.rows("SELECT said FROM recollect.event WHERE {mine} AND event_id = 'e'")
    assert kept == "a\ufffdb \\u0000 'quoted' \U0001f600"


def test_sql_in_every_string_of_a_batch_is_kept_as_text(client: Client, team: Team) -> None:
    sql = "'); DROP TABLE recollect.event; --"
    strings = ("session_uid", "agent", "repo", "title", "branch")
    session = {**SESSION, **dict.fromkeys(strings, sql), "usage": [{"model": sql}], "digest": {sql: sql}}
    event = {**EVENT, **dict.fromkeys(("event_id", "kind", "tool", "summary", "text"), sql), "paths": [sql]}
    learning = {"learning_id": sql, "stamp": 1, "repo": sql, "kind": sql, "body": {sql: sql}}
    status, answer = client.batch(
        shares={sql: "full"}, withdrawn=[sql], sessions=[session], spans=[span(session_uid=sql, events=[event])],
        retired=[sql], learnings=[learning], model=sql,
    )  # fmt: skip
    assert (status, answer.get("error", {}).get("message")) == (200, None)
    columns = ("event_id", "kind", "tool", "summary", "said", "paths")
    kept = team.rows(f"SELECT {', '.join(columns)} FROM recollect.event WHERE {{mine}} AND seq = 3")
    assert kept == [(sql,) * len(columns)]
    assert team.rows("SELECT learning_id, repo FROM recollect.learning WHERE {mine}") == [(sql, sql)]


def test_of_two_spellings_of_a_repository_the_one_that_shares_more_counts(client: Client, team: Team) -> None:
    assert client.batch(shares={"Shop": "figures", "SHOP": "full", "shop": "distilled"})[0] == 200
    assert team.rows("SELECT repo, level FROM recollect.share WHERE {mine}") == [("SHOP", "full")]


def test_ids_of_another_person_change_nothing_of_theirs(
    client: Client, ada: Machine, machine: Callable[[str], Machine], team: Team, server: Server
) -> None:
    mallory = machine("mallory")
    mallory.join(server, team.invite("mallory"))
    forger = Client(server, mallory)
    hit = mallory.memory.team.search("leak").hits[0]
    before = team.rows("SELECT * FROM recollect.event WHERE {mine} ORDER BY session_id, event_id, part")
    forged = {**SESSION, "session_uid": hit.session_uid}
    events = [{**EVENT, "event_id": hit.event_id, "text": "forged leak"}]
    assert forger.batch(derivation_id="m", restarts=True, withdrawn=[hit.session_uid])[0] == 200
    assert forger.batch(sessions=[forged], spans=[span(session_uid=hit.session_uid, events=events)])[0] == 200
    after = team.rows("SELECT * FROM recollect.event WHERE {mine} ORDER BY session_id, event_id, part")
    assert [row for row in after if row in before] == before
    people = {(one.person, one.event_id) for one in ada.memory.team.search("leak").hits}
    assert {("ada", hit.event_id), ("mallory", hit.event_id)} <= people


@pytest.mark.parametrize(
    "path", ["standing", "batch", "search", "sessions", "show", "decisions", "usage", "members", "audit", "leave"]
)
@pytest.mark.parametrize(
    "shown", ["", "Bearer ", "Bearer nonsense", "Bearer rct1_" + "0" * 32 + "_" + "a" * 43, "Bearer ' OR 1=1"]
)
def test_without_a_token_nothing_is_said(client: Client, path: str, shown: str) -> None:
    status, answer = client.post(
        f"/v1/{path}", b'{"query": "leak", "cited": "team:a/b/c", "question": {}}', authorization=shown
    )
    assert status == 403
    assert set(answer) == {"error"}


def test_another_version_of_the_protocol_is_refused(client: Client) -> None:
    status, answer = client.post("/v1/standing", b"{}", recollect_protocol="2")
    assert status == 426
    assert "version 1" in answer["error"]["message"]


def test_a_large_body_is_not_read(client: Client) -> None:
    assert client.post("/v1/batch", b"x", content_length=str(100 << 20))[0] == 413


def test_a_small_body_that_stands_for_gigabytes_is_refused(client: Client) -> None:
    status, answer = client.post("/v1/batch", zstandard.compress(b" " * (200 << 20)))
    assert status == 409
    assert "unpacked" in answer["error"]["message"]


NO_QUESTION = b'{"query": 1, "cited": 1, "question": 1, "by": 1, "agents": 1}'


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, NO_QUESTION])
@pytest.mark.parametrize("path", ["search", "sessions", "show", "decisions", "usage"])
def test_a_question_that_is_none_is_refused(client: Client, body: bytes, path: str) -> None:
    assert client.post(f"/v1/{path}", body)[0] == 400
    assert client.post(f"/v1/{path}", b'{"query": "x", "cited": "x", "question": {}, "by": "x", "limit": 0}')[0] == 400


def test_a_token_goes_over_https_or_stays_on_this_machine(ada: Machine) -> None:
    with pytest.raises(ConfigError, match="https"):
        ada.memory.team.join("http://team.example.com", "code", "x")


def test_what_is_no_team_server_is_said_to_be_none(machine: Callable[[str], Machine], server: Server) -> None:
    with pytest.raises(TeamRefused, match="HTTP 404"):
        machine("lost").memory.team.join(f"{server.url}/elsewhere", "x" * 40, "lost")


@pytest.mark.parametrize(
    ("happening", "said"),
    [
        ("RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'", "has no room"),
        ("PERFORM pg_terminate_backend(pg_backend_pid())", "cannot be reached"),
    ],
)
def test_a_database_that_fails_in_the_midst_of_a_batch_keeps_nothing_of_it(
    ada: Machine, team: Team, happening: str, said: str
) -> None:
    ada.session("two", "And why does it crash?", "And burn?")
    held = (
        "SELECT session_uid, event_id, part, said FROM recollect.session s "
        "JOIN recollect.event e USING (team_id, session_id) WHERE s.{mine} ORDER BY 1, 2, 3"
    )
    before = team.rows(held)
    team.execute(
        "CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS "
        f"$$ BEGIN IF NEW.said LIKE '%%burn%%' THEN {happening}; END IF; RETURN NEW; END $$"
    )
    team.execute("CREATE TRIGGER fails BEFORE INSERT ON recollect.event FOR EACH ROW EXECUTE FUNCTION public.fail()")
    try:
        with pytest.raises(TeamUnavailable, match=said):
            push_and_note(ada.memory, attempts=1)
        assert team.rows(held) == before
        assert said in read_state(ada.memory.home, team.name).failure
    finally:
        team.execute("DROP FUNCTION public.fail() CASCADE")
    ada.memory.team.push()
    assert {said for *_, said in team.rows(held)} >= {"And why does it crash?", "And burn?"}
