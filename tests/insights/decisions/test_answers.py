"""A proposal and its answer are one decision of the human; an answer to nothing is none."""

from __future__ import annotations

import pytest

from tests.insights.decisions.stories import answered, read

LISTED = "Two ways:\n\n1. **Redis**: one more service\n2. **A table**: slower\n3. Nothing\n\nWhich one do you prefer?"
OFFER = "Writing both is error-prone. Would you like me to introduce the outbox pattern?"


@pytest.mark.parametrize(
    ("answer", "chosen", "rejected"),
    [
        ("option 2", "table", ("Redis", "Nothing")),
        ("2", "table", ("Redis", "Nothing")),
        ("yes do option 1", "Redis", ("table", "Nothing")),
        ("the first one", "Redis", ("table", "Nothing")),
        ("I think 3 is the right approach", "Nothing", ("Redis", "table")),
    ],
)
def test_an_option_is_named_by_its_number_or_place(answer: str, chosen: str, rejected: tuple[str, ...]) -> None:
    (one,) = answered(LISTED, answer)
    assert (one.polarity, one.chosen, one.rejected) == ("adopt", (chosen,), rejected)
    assert one.question == "Which one do you prefer?"


@pytest.mark.parametrize("answer", ["yes", "Yes!", "sounds good", "👍 go for it", "ok, do that", "sure, go ahead"])
def test_a_yes_takes_what_was_offered(answer: str) -> None:
    (one,) = answered(OFFER, answer)
    assert (one.polarity, one.chosen, one.speaker) == ("adopt", ("introduce the outbox pattern",), "human")


def test_a_no_turns_it_down() -> None:
    (one,) = answered(OFFER, "no")
    assert (one.polarity, one.rejected) == ("reject", ("introduce the outbox pattern",))


def test_both_messages_are_evidence_and_the_conversation_quotes_both() -> None:
    conversations, (one,) = read(("human", "how"), ("assistant", OFFER), ("human", "yes"))
    assert [(e.role, e.event_id) for e in one.evidence] == [("proposal", "e1"), ("confirmation", "e2")]
    assert conversations[0].text == OFFER + "\n\n" + "yes"
    assert (conversations[0].first_turn, conversations[0].last_turn) == (1, 2)
    assert one.conversation == conversations[0].id
    marker = conversations[0].markers[0]
    assert conversations[0].text[marker.start : marker.end] == "yes"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("All 214 tests pass.", "yes"),
        ("All 214 tests pass.", "looks good, ship it"),
        ("Want me to run the tests?", "yes"),
        ("I fixed two of six tests.", "continue"),
        (LISTED, "why not redis?"),
        (OFFER, "yes, but what does it cost?"),
        (OFFER, "good catch"),
    ],
)
def test_an_answer_to_progress_or_to_a_step_decides_nothing(reply: str, answer: str) -> None:
    assert answered(reply, answer) == []


def test_an_answer_without_a_reply_before_it_decides_nothing() -> None:
    assert read(("human", "yes"), ("human", "option 2"), ("human", "do that"))[1] == []


def test_a_reply_is_answered_once() -> None:
    found = read(("assistant", OFFER), ("human", "yes"), ("human", "yes"))[1]
    assert len(found) == 1


def test_an_answer_that_says_its_own_choice_decides_by_its_words() -> None:
    (one,) = answered("Would you like me to put it in the README?", "no, put it in docs/setup.md")
    assert (one.chosen, one.evidence[-1].event_id) == (("docs/setup.md",), "e2")
