"""What learned weights make of what people say: learnings that no rule understands, and a rule that is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ingest.learnings.readers import extract_session
from recollect.model.learnings.learnings import Learning
from tests.quality.learned import session_saying

DONE = "Done. I've added docstrings to every function in the module."


def learned(text: str, before: str = "", *, is_ranked: bool = True) -> list[Learning]:
    return extract_session(session_saying(text, before), is_ranked=is_ranked).learnings


@pytest.mark.parametrize(
    "text",
    ["this repo uses tabs btw", "prod is still on python 3.9 so no match statements"],
)
def test_what_is_told_in_passing_is_kept_and_says_how_it_is_known(text: str) -> None:
    (found,) = learned(text)
    assert (found.text, found.status, found.scope) == (text, "ranked", "repo")
    assert found.features == {"scorer": found.confidence}
    assert found.confidence <= 0.6  # until other sessions, or a person, bear it out
    assert learned(text, is_ranked=False) == []


def test_a_rule_that_misunderstands_is_refused() -> None:
    text = "never mind the last message, I was in the wrong tmux pane"
    assert [one.status for one in learned(text, DONE, is_ranked=False)] == ["derived"]
    assert learned(text, DONE) == []


def test_what_a_person_asks_to_remember_needs_no_consent() -> None:
    (found,) = learned("Remember: the zebra crossing is painted twice.")
    assert found.status == "derived"


def test_a_credential_is_never_learned() -> None:
    assert learned("the staging password is hunter2-hunter2 btw, this repo uses it everywhere") == []


@given(st.text(max_size=300), st.text(max_size=100))
def test_any_text_is_read_and_the_same_text_teaches_the_same(text: str, before: str) -> None:
    assert learned(text, before) == learned(text, before)
