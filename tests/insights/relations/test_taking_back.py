"""What a person takes back no longer holds, in whatever words the person does it."""

from __future__ import annotations

import pytest

from recollect.insights.learnings.settlement import related
from recollect.insights.revisions import revision_in, statement_of
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
    ("Always run the whole test suite before you commit, please.",
     "You don't have to run all tests before committing any more, CI does that now."),
    ("Don't touch anything under vendor/, ever.",
     "It's ok to edit the files in vendor now, we own that code since last week."),
    ("I want you to ask me before you install any new dependency.",
     "stop asking me about every package, just install what you need"),
    ("Mets toujours les commentaires en français.",
     "Les commentaires, on les écrit en anglais maintenant, oublie le français."),
    ("Bitte antworte mir immer auf Deutsch.",
     "You can answer in English again, my colleague is reading along from now on."),
    ("Never mock the database in tests.",
     "Forget what I said about mocks: mocking the db is fine, the real one takes too long."),
    ("Every endpoint must return camelCase.", "snake_case for the endpoints please, the mobile folks hate camelCase"),
    ("Siempre crea una rama nueva para cada cambio.",
     "Ya no hace falta una rama por cambio, trabaja directamente en develop."),
    ("Always squash before merging.", "Let's not squash from now on, I want to see the individual commits."),
    ("Utilise toujours des commits signés.", "plus besoin de signer les commits, la règle a été supprimée"),
]  # fmt: skip
STANDS = [
    ("We use tabs for indentation.", "No tabs in Makefiles any more."),
    ("Always run the linter before a push.", "We no longer support Node 16."),
    ("Always write docstrings for public functions.", "It's fine to skip the changelog for now."),
    ("Always run the tests before a push.", "From now on write the changelog entry in the PR before a push."),
    ("Never deploy on Fridays.", "Never deploy on Fridays or before a holiday."),
    ("Use pnpm in this repo, never npm.", "For the legacy docs folder npm is fine, it still has a package-lock there."),
    ("Don't use global state in the reducers.", "For the one-off migration script a global is okay, but only there."),
    ("Always add a changelog entry for every change.", "skip the changelog entry this time, it's only a typo"),
    ("I want every function to have a docstring.", "In the tests you don't need docstrings"),
    ("Never run the migrations yourself.", "The migrations no longer run on sqlite, fix that"),
    ("Always ask me before deleting files.", "You can now delete the files in /tmp/export"),
    (
        "Schreib immer Tests für neue Funktionen.",
        "Die Tests für die neue Funktion laufen jetzt nicht mehr, schau mal nach",
    ),
    ("Kommentare immer auf Englisch.", "Kommentare jetzt immer auf Englisch, auch wenn wir hier Deutsch reden."),
]


def is_taken_back(old: str, new: str) -> bool:
    revision = revision_in(new)
    return revision is not None and revision.is_of(statement_of(old))


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


def test_a_ban_of_one_thing_ends_nothing_that_only_mentions_it() -> None:
    policy = decision("a", 1, statement="the password policy is minimum twelve characters, one digit", status="ranked")
    ban = decision(
        "b", 2, "password", polarity="ban",
        statement="Never put a password in the repo, I'd rather have it prompt every time",
    )  # fmt: skip
    assert relate(policy, ban).links == []
    assert told(relate(decision("a", 1, statement="a password in the repo", status="ranked"), ban)) != set()
