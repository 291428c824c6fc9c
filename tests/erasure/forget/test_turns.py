"""What is left of a turn whose prompt is forgotten is told of no other turn, by no verb, and says what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request

from recollect.model.events import Event
from recollect.model.payloads import UserMessage
from recollect.serve.web.session_page import session_page
from tests.erasure.forget.test_forgetting import SECRET, forget
from tests.ingest.conftest import World


def test_a_digest_tells_of_the_turn_itself_where_its_prompt_is_forgotten(world: World) -> None:
    memory, one = world.memory, world.claude("one")
    one.user("please rename the flux capacitor")
    one.tool("Bash", {"command": "pytest"}, "1 passed in 0.1s")
    one.assistant("Renamed.")
    one.user(f"which port has {SECRET}?")
    one.assistant("Port 8123.")
    memory.sync()
    assert memory.digest(one.uid).outcome_reasons == ("a reply answers the last request: “Port 8123.”",)
    forget(memory, pattern=SECRET)
    digest = memory.digest(one.uid)
    assert digest.outcome_reasons == ("a reply answers the last request: “Port 8123.”",)
    session = memory.session(one.uid)
    assert (digest.cost.turns, session.turn_count) == (2, 2)
    assert session.outcome_reason == "; ".join(digest.outcome_reasons)


def test_work_of_a_turn_whose_prompt_is_forgotten_is_not_the_turns_before(world: World) -> None:
    memory, one = world.memory, world.claude("one")
    one.user("please rename the flux capacitor")
    one.assistant("Renamed.")
    one.user(f"now run the tests of {SECRET}")
    one.tool("Bash", {"command": "pytest"}, "1 passed in 0.1s")
    one.user("which port is it?")
    one.assistant("Port 8123.")
    memory.sync()
    forget(memory, pattern=f"{SECRET}|which port")
    (reason,) = memory.digest(one.uid).outcome_reasons
    assert reason == "a reply answers the last request: “Port 8123.”"


def test_a_session_says_where_something_was_forgotten_and_not_what(world: World) -> None:
    memory, one = world.memory, world.claude("one")
    one.user("please rename the flux capacitor")
    one.assistant("Renamed.")
    one.user(f"which port has {SECRET}?")
    one.assistant("Port 8123.")
    memory.sync()
    before = memory.recall.page(one.uid)
    last = max(event.seq for event in before.events if event.seq < _asked(before.events, SECRET))
    assert before.notes == ()
    forget(memory, pattern=SECRET)
    (note,) = memory.recall.page(one.uid).notes
    assert note.startswith(f"forgotten here: 1 record after #{last} (")
    request = Request({"type": "http", "path_params": {"uid": one.uid}, "query_string": b"", "headers": []})
    assert session_page(memory, request)[1]["gaps"] == [note]
    assert f"*{note}*" in b"".join(memory.maintenance.export_bytes(one.uid, format="markdown")).decode()
    memory.maintenance.rebuild("all")
    assert memory.recall.page(one.uid).notes == (note,)


def test_a_forgotten_beginning_is_told_and_another_session_says_nothing(world: World) -> None:
    memory, one, other = world.memory, world.claude("one"), world.claude("two")
    one.user(f"{SECRET} please")
    one.assistant("Renamed.")
    other.user("please rename the flux capacitor")
    other.assistant("Renamed.")
    memory.sync()
    forget(memory, pattern=SECRET)
    (note,) = memory.recall.page(one.uid).notes
    assert "1 record at the beginning" in note or "1 record after #0" in note
    assert memory.recall.page(other.uid).notes == ()


def _asked(events: Sequence[Event], text: str) -> int:
    return next(e.seq for e in events if isinstance(e.payload, UserMessage) and text in e.payload.text)
