"""A hit comes with what belongs to it: the call of a result, the result of a call, the prompt, the last reply."""

from __future__ import annotations

from recollect.memory import ForgetSelection, Hit, Memory
from tests.ingest.conftest import World


def hit_of(memory: Memory, query: str, kind: str) -> Hit:
    return next(hit for hit in memory.search(query, sync=False).hits if hit.kind == kind)


def told(hit: Hit) -> dict[str, str]:
    return {part.label: part.text for part in hit.related}


def test_a_call_has_its_result_its_prompt_and_the_reply_that_closed_the_turn(world: World) -> None:
    session = world.claude("one")
    session.user("Please find out which port the zebra listens on.")
    session.tool("Bash", {"command": "zebractl status --long"}, "listening on port 8123")
    session.assistant("The zebra listens on 8123.")
    session.user("Thanks, and now something else entirely.")
    session.assistant("Of course.")
    world.memory.sync()
    call = told(hit_of(world.memory, "zebractl status", "tool_call"))
    assert call["asked"].startswith("Please find out which port")
    assert "8123" in call["result"]
    assert call["answer"] == "The zebra listens on 8123."
    result = told(hit_of(world.memory, '"listening on port"', "tool_result"))
    assert "zebractl" in result["call"]


def test_a_prompt_has_the_last_reply_also_in_the_last_turn_of_a_session(world: World) -> None:
    session = world.claude("one")
    session.user("What is the weather in Bochum?")
    session.assistant("I'll look.")
    session.assistant("Sunny, 24 degrees.")
    world.memory.sync()
    hit = hit_of(world.memory, "weather Bochum", "user_message")
    assert told(hit) == {"answer": "Sunny, 24 degrees."}
    assert [part.seq for part in hit.related] == [
        max(e.seq for e in world.memory.events(hit.session_uid) if e.kind == "assistant_message")
    ]


def test_what_an_agent_proposed_has_what_the_person_said_next(world: World) -> None:
    session = world.claude("one")
    session.user("How shall the zebra be fed?")
    session.assistant("Three ways to feed the zebra: a trough, a bucket, or by hand.")
    session.tool("Bash", {"command": "ls"}, "trough")
    session.user("No trough, we would make assumptions about the visitors' arms.")
    session.assistant("Then a bucket.")
    world.memory.sync()
    proposed = told(hit_of(world.memory, '"three ways"', "assistant_message"))
    assert proposed["asked"] == "How shall the zebra be fed?"
    assert proposed["reply"] == "No trough, we would make assumptions about the visitors' arms."
    assert "reply" not in told(hit_of(world.memory, '"no trough"', "user_message"))


def test_what_is_a_hit_itself_is_not_told_again(world: World) -> None:
    session = world.claude("one")
    session.user("Why does the gizmo blink?")
    session.assistant("The gizmo blinks because its battery is low.")
    world.memory.sync()
    hits = world.memory.search("gizmo", sync=False).hits
    assert len(hits) == 2
    assert all(hit.related == () for hit in hits)


def test_a_long_text_is_shown_around_its_match_in_whole_sentences(world: World) -> None:
    filler = "Nothing of interest happened on that day. " * 60
    session = world.claude("one")
    session.user("tell me")
    session.assistant(f"{filler}The gizmo blinks because its battery is low. {filler}")
    world.memory.sync()
    passage = hit_of(world.memory, "gizmo battery", "assistant_message").passage
    assert "The gizmo blinks because its battery is low." in passage
    assert 300 < len(passage) < 700
    assert passage.startswith("…Nothing")
    assert passage.endswith("day.…")


def test_of_a_turn_whose_prompt_is_forgotten_no_other_prompt_and_reply_are_told(world: World) -> None:
    session = world.claude("one")
    session.user("How do I paint the fence?")
    session.tool("Bash", {"command": "paintctl colors"}, "green, red")
    session.assistant("With a brush.")
    session.user("Wire the gizmo, the secret word is zanzibarquux.")
    session.tool("Bash", {"command": "gizmoctl plug"}, "wired to the left")
    session.assistant("It is on the left wire.")
    session.user("Feed the zebra, the secret word is zanzibarquux.")
    session.assistant("The zebra is fed.")
    world.memory.sync()
    world.memory.maintenance.forgetting.run(ForgetSelection(pattern="zanzibarquux"))
    assert told(hit_of(world.memory, '"green, red"', "tool_result")) == {
        "asked": "How do I paint the fence?",
        "call": "Bash\ncommand: paintctl colors",
        "answer": "With a brush.",
    }
    call = told(hit_of(world.memory, "gizmoctl", "tool_call"))
    assert call == {"result": "wired to the left", "answer": "It is on the left wire."}
    assert told(hit_of(world.memory, "zebra fed", "assistant_message")) == {}


def test_a_questions_first_hit_has_the_two_events_after_it(world: World) -> None:
    session = world.claude("one")
    session.user("Please look after it.")
    session.assistant("The zebra gizmo blinks at night because its battery is low.")
    session.tool("Bash", {"command": "wc notes"}, "42 notes")
    session.assistant("Changed.")
    world.memory.sync()
    hit = world.memory.search("Why does the zebra gizmo blink at night?", sync=False, limit=1).hits[0]
    assert [part.text.split("\n")[0] for part in hit.later if part.label == "next"] == ["Bash", "42 notes"]


def test_a_proposal_has_the_last_reply_about_the_same_in_the_session(world: World) -> None:
    session = world.claude("one")
    session.user("Where should the zebra queue keep its jobs?")
    session.assistant("I propose that the zebra queue keeps its jobs in a file beside the queue of the zebra.")
    for number in range(20):
        session.user(f"Something else entirely, number {number}.")
        session.assistant(f"Fine, that is item {number}.")
    session.user("Or in memory?")
    session.assistant("In memory, the zebra queue would keep its jobs, and lose them.")
    session.user("No files, please.")
    session.assistant("Done: the zebra queue is in the database now.")
    for number in range(20):
        session.user(f"And another thing, number {number}.")
        session.assistant(f"Fine, that is thing {number}.")
    world.memory.sync()
    hits = world.memory.search("Where does the zebra queue keep its jobs?", sync=False, limit=1).hits
    assert len(hits) == 1
    assert ["database now" in part.text for part in hits[0].later if part.label == "later"] == [True]


def test_keywords_have_nothing_that_came_later(world: World) -> None:
    session = world.claude("one")
    session.user("the zebra queue")
    session.assistant("The zebra queue is empty.")
    session.assistant("Done.")
    world.memory.sync()
    assert all(hit.later == () for hit in world.memory.search("zebra queue", sync=False).hits)
