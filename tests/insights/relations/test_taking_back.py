"""What a person takes back no longer holds, in whatever words the person does it."""

from __future__ import annotations

import pytest

from recollect.insights.learnings.settlement import related
from recollect.insights.revisions import revision_in
from recollect.insights.subjects import words_in
from tests.insights.learnings.test_settling import RULES, T0, learning
from tests.insights.relations.test_links import decision, relate, told

TAKEN_BACK = [
    ("Always put new tests beside the module they test, in src/.",
     "Scrap that, I was wrong about where tests live: they all belong in tests/, nothing beside the module."),
    ("Please always use pip to install packages in this repository.", "We moved to uv, so stop calling pip here."),
    ("Write commit messages in German, always.",
     "Forget what I told you about commit messages: English only from here on."),
    ("Never touch the generated clients by hand.",
     "Actually it's fine to edit the generated clients; the generator is gone."),
    ("We use tabs for indentation here, please always stick to that.", "Not tabs any more - four spaces, please."),
    ("Always run the whole suite before you push.",
     "You don't need to run the whole suite before a push, the smoke tests are enough."),
    ("Always squash before you merge.", "We no longer squash; keep the single commits."),
    ("Immer die ganze Suite vor dem Push laufen lassen.",
     "Du brauchst die ganze Suite nicht mehr vor jedem Push laufen zu lassen."),
]  # fmt: skip
STANDS = [
    ("We use tabs for indentation.", "No tabs in Makefiles any more."),
    ("Always run the linter before a push.", "We no longer support Node 16."),
    ("Always write docstrings for public functions.", "It's fine to skip the changelog for now."),
    ("Always run the tests before a push.", "From now on write the changelog entry in the PR before a push."),
    ("Never deploy on Fridays.", "Never deploy on Fridays or before a holiday."),
]


def is_taken_back(old: str, new: str) -> bool:
    revision = revision_in(new)
    return revision is not None and revision.is_of(frozenset(words_in(old)))


@pytest.mark.parametrize(("old", "new"), TAKEN_BACK)
def test_a_later_word_about_the_same_thing_takes_it_back(old: str, new: str) -> None:
    assert is_taken_back(old, new)


@pytest.mark.parametrize(("old", "new"), STANDS)
def test_what_is_about_something_else_or_some_other_place_takes_nothing_back(old: str, new: str) -> None:
    assert not is_taken_back(old, new)


def test_a_decision_that_was_taken_back_is_superseded_whatever_its_options() -> None:
    (old, new) = TAKEN_BACK[0]
    one = decision("a", 1, "put new tests beside the module", statement=old)
    other = decision("b", 2, "", "where tests live", polarity="reverse", statement=new)
    assert told(relate(one, other)) == {(other.id, "supersedes", one.id)}
    of_the_agent = decision("b", 2, "", "x", statement=new, speaker="assistant")
    assert relate(one, of_the_agent).links == []


def test_a_preference_that_was_taken_back_is_superseded() -> None:
    (old, new) = TAKEN_BACK[4]
    one = learning("l1", old, kind="preference")
    other = learning("l2", new, kind="preference", ts=T0 + 1)
    (found,) = related([one, other], RULES, is_free=lambda _: True)
    assert (found.id, found.state, found.superseded_by) == ("l1", "superseded", "l2")
    elsewhere = learning("l2", new, kind="preference", ts=T0 + 1, repo="other")
    assert related([one, elsewhere], RULES, is_free=lambda _: True) == []
