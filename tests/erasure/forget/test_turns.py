"""What is left of a turn whose prompt is forgotten is told of no other turn, by no verb."""

from __future__ import annotations

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
