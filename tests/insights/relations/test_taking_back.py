"""What a person takes back no longer holds, in whatever words the person does it."""

from __future__ import annotations

import msgspec
import pytest

from recollect.ingest.learnings.keep import overruled
from recollect.insights.decisions.relations import retracted
from recollect.insights.learnings.settlement import related
from recollect.insights.revisions import revision_in, statement_of
from recollect.model.insights.nodes import Link
from recollect.model.learnings.learnings import LearningKind
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
    ("Always run the linter before you commit.", "You can stop running the linter, the pre-commit hook does it."),
    ("Use tabs in this repo.", "Forget what I said about tabs, use spaces."),
    ("Please write a changelog entry for every change.",
     "We don't do changelog entries anymore, the release notes are generated."),
    ("Never push directly to main.", "Pushing straight to main is fine from now on, it's just me here."),
    ("Use four spaces for indentation.", "Indentation is two spaces now, please."),
    ("Put all SQL in the queries folder.",
     "The queries folder is dead. SQL lives next to the code that runs it."),
    ("Every function needs a docstring.", "Skip the docstrings from now on, the types say enough."),
    ("Ask me before you delete files.", "No need to check with me before deleting things any more."),
    ("Use Jest for the frontend tests.", "We replaced Jest with Vitest last week."),
    ("Only use functional components.", "Class components are allowed again."),
    ("Always squash the commits of a branch.", "Stop squashing, I want to keep the history."),
    ("Please always open a draft PR first.", "Draft PRs aren't needed any more, open them ready for review."),
    ("I prefer tabs over spaces.", "Actually I prefer spaces now."),
    ("Don't format the SQL files.", "It's ok to format the SQL files, I found a good formatter."),
    ("Always use the Oxford comma in the docs.",
     "No more Oxford commas in the docs please, the style guide changed."),
    ("Wir nehmen MariaDB für die Bestellungen.", "MariaDB hat sich erledigt, wir bleiben bei Postgres."),
    ("Niemals direkt in die Datenbank schreiben.", "Direkt in die Datenbank zu schreiben ist jetzt in Ordnung."),
    ("Ne modifie jamais le fichier de config.", "Tu peux maintenant modifier le fichier de config."),
    ("Usa siempre comillas dobles.", "Olvida lo de las comillas dobles, usa simples."),
    ("our API must stay backwards compatible, so never remove a field",
     "ok v2 is a clean break, so removing fields is fine from now on"),
    ("Migrationen schreiben wir immer von Hand, kein autogenerate.", "autogenerate ist doch okay für Migrationen"),
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
    ("Always ask before running a migration.", "The migration isn't needed any more, the column exists."),
    ("Don't format the SQL files.", "You can now run the SQL files."),
    ("Never amend commits that are pushed.", "Now push the commits."),
    ("Never write to the prod database.", "We moved the prod database to a bigger machine."),
    ("Always deploy to staging first.", "Never mind the staging banner, it's just a colour."),
    ("Use Postgres for the orders.", "We no longer need the postgres dump from last week."),
    ("Only use functional components.", "You may now review the components folder."),
    ("Don't use the network in tests.", "The network is back, run the tests again."),
    ("Don't use global variables.", "The global variable is gone now, good."),
    ("Don't add new dependencies.", "The new dependency is fine, thanks."),
    ("Every PR needs two screenshots.", "The second screenshot isn't needed, one is enough here."),
    ("Immer erst die Doku lesen.", "Die Doku ist veraltet, bring sie auf den neuesten Stand."),
    ("We log everything as JSON.", "Go back to the logging task from this morning."),
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


def test_a_word_that_is_no_decision_ends_an_older_one_that_nothing_else_ended() -> None:
    old = decision("a", 1, "run the linter", statement="Always run the linter before you commit.")
    word = decision("b", 2, statement="You can stop running the linter.", polarity="reverse")
    other = decision("c", 3, statement="You can stop running the profiler.", polarity="reverse")
    links, used = retracted([old], [word, other], [])
    assert [(link.newer, link.relation, link.older) for link in links] == [(word.id, "supersedes", old.id)]
    assert used == [word]
    ended = Link(newer="x", older=old.id, relation="supersedes")
    assert retracted([old], [word], [ended]) == ([], [])
    earlier = decision("b", 0, statement="You can stop running the linter.", polarity="reverse")
    assert retracted([old], [earlier], []) == ([], [])


@pytest.mark.parametrize(
    ("kind", "old", "new", "is_over"),
    [
        ("action", "we still have to rotate the sentry key.", "Never mind the sentry key, we drop sentry.", True),
        ("action", "we still have to rotate the sentry key.", "Never mind the sentry banner.", False),
        ("action", "we still have to rotate the sentry key.", "The sentry key is fine now.", False),
        ("correction", "No, always use the fetch wrapper.", "You don't need the fetch wrapper any more.", True),
        ("fact", "The lockfile must be committed.", "The lockfile doesn't need to be committed any more.", True),
        ("pattern", "Lint runs with `make lint`.", "You can stop running the linter.", False),
    ],
)
def test_what_the_person_takes_back_is_over_whatever_kind_of_learning_it_is(
    kind: LearningKind, old: str, new: str, *, is_over: bool
) -> None:
    word = decision("b", 1, statement=new, polarity="reverse")
    told = learning("l1", old, kind=kind, ts=(word.ts or 0) - 1)
    assert overruled([told], [word]) == ({"l1"} if is_over else set())
    assert overruled([told], [msgspec.structs.replace(word, speaker="assistant")]) == set()
    assert overruled([learning("l1", old, kind=kind, ts=(word.ts or 0) + 1)], [word]) == set()


@pytest.mark.parametrize("new", ["hmm, wait. Actually let's not, RQ is simpler", "Scratch that.", "Nein, doch nicht."])
def test_what_points_back_takes_back_what_was_said_right_before(new: str) -> None:
    one, other = (decision("a", day, statement=text) for day, text in ((1, "Let's use vite"), (2, "Let's use Celery")))
    at = [msgspec.structs.replace(d, turn_index=turn) for turn, d in enumerate((one, other), 1)]
    word = decision("a", 3, statement=new, polarity="reverse", turn_index=3)
    assert [link.older for link in retracted(at, [word], [])[0]] == [other.id]
    for apart in ({"turn_index": 4}, {"session_uid": "b"}):
        assert retracted(at, [msgspec.structs.replace(word, **apart)], [])[0] == []
    of_agent = [msgspec.structs.replace(d, speaker="assistant") for d in at]
    assert retracted(of_agent, [word], [])[0] == []
