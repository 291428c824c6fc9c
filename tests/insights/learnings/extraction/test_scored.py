"""What learned weights make of what people say: learnings that no rule understands, and a rule that is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ingest.learnings.rule_extractor import extract_session
from recollect.model.learnings.learnings import Learning
from tests.quality.learned import session_saying

LATER = "the old importer can go once the partners are off it, some time after the release"
DONE = "Done. I've added docstrings to every function in the module."


def learned(text: str, before: str = "", *, is_ranked: bool = True) -> list[Learning]:
    return extract_session(session_saying(text, before), is_ranked=is_ranked).learnings


@pytest.mark.parametrize(
    "text",
    ["prod is still on python 3.9 so no match statements", "our users are still on ie mode, so don't break that"],
)
def test_what_is_told_in_passing_is_kept_and_says_how_it_is_known(text: str) -> None:
    (found,) = learned(text)
    assert (found.text, found.status, found.scope) == (text, "ranked", "repo")
    assert found.features == {"scorer": found.confidence}
    assert found.confidence <= 0.5  # until other sessions, or a person, bear it out
    assert learned(text, is_ranked=False) == []


@pytest.mark.parametrize(
    "text", ["this bug only appears on windows", "that yml hasn't been loaded since 2021, settings come out of consul."]
)
def test_what_is_told_of_its_own_moment_is_not_kept(text: str) -> None:
    assert learned(text) == []


def test_what_is_left_for_later_in_plain_words_is_an_action_and_says_how_it_is_known() -> None:
    (found,) = learned(LATER)
    assert (found.kind, found.text, found.status) == ("action", LATER, "ranked")
    assert found.features == {"scorer": found.confidence}
    assert found.confidence <= 0.5  # until other sessions, or a person, bear it out
    assert learned(LATER, is_ranked=False) == []


def test_a_rule_that_misunderstands_is_refused() -> None:
    text = "Wow ok that actually worked, I take back what I said about you this morning"
    assert [one.status for one in learned(text, DONE, is_ranked=False)] == ["derived"]
    assert learned(text, DONE) == []


def test_what_a_person_asks_to_remember_needs_no_consent() -> None:
    (found,) = learned("Remember: the zebra crossing is painted twice.")
    assert found.status == "derived"


CHANGED = "I changed the expected value in test_cart.py so that the test passes."


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("No! Never change a test to make it pass.", "Never change a test to make it pass."),
        (
            "Stop, that is wrong. You must not cache this in memory. Use an index in SQLite instead.",
            "You must not cache this in memory. Use an index in SQLite instead.",
        ),
        ("Nein! Ändere nie einen Test, damit er grün wird.", "Ändere nie einen Test, damit er grün wird."),
        ("Halt, so nicht. Die Tests dürfen nie ins Netz gehen.", "Die Tests dürfen nie ins Netz gehen."),
    ],
)
def test_what_must_or_must_not_be_done_behind_a_protest_is_a_correction_without_consent(text: str, kept: str) -> None:
    assert [(one.kind, one.text, one.status) for one in learned(text, CHANGED)] == [("correction", kept, "derived")]


@pytest.mark.parametrize(
    "text",
    ["No! It must have been the old build.", "Stop. I must look at it first.", "Nein. Das muss ich erst klären."],
)
def test_a_protest_before_what_only_is_or_was_corrects_nothing(text: str) -> None:
    assert learned(text, CHANGED) == []


def test_a_credential_is_never_learned() -> None:
    assert learned("the staging password hunter2-hunter2 should be rotated next week, after the release") == []


@given(st.text(max_size=300), st.text(max_size=100))
def test_any_text_is_read_and_the_same_text_teaches_the_same(text: str, before: str) -> None:
    assert learned(text, before) == learned(text, before)
