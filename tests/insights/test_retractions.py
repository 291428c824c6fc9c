"""What people say that may end what they said before is noted with its sentence."""

from __future__ import annotations

import pytest

from recollect.insights.retractions import retractions_said
from recollect.insights.stream import SessionEvents
from recollect.model.insights.nodes import Speaker
from tests.insights.decisions.stories import said


def taken_back(*messages: tuple[Speaker, str]) -> list[str]:
    return [one.statement for one in retractions_said(said(*messages))]


def test_the_sentence_that_says_so_is_noted_and_not_what_stands_around_it() -> None:
    text = "Thanks, that works. You can stop running the linter. Show me the diff."
    assert taken_back(("human", text)) == ["You can stop running the linter."]
    (found,) = retractions_said(said(("human", text)))
    (evidence,) = found.evidence
    assert text[evidence.start : evidence.end].strip() == found.statement
    decision = found.as_decision()
    assert (decision.statement, decision.polarity, decision.speaker) == (found.statement, "reverse", "human")


@pytest.mark.parametrize(
    "text",
    [
        "Should we stop running the linter?",
        "You can stop running the linter this time.",
        "The build no longer works on my machine.",
        "Run the linter.",
        "> you can stop running the linter",
        "Never mind.",
    ],
)
def test_questions_exceptions_complaints_and_quotations_take_nothing_back(text: str) -> None:
    assert taken_back(("human", text)) == []


def test_only_a_person_takes_something_back() -> None:
    assert taken_back(("assistant", "You can stop running the linter.")) == []
    assert list(retractions_said(SessionEvents([]))) == []
