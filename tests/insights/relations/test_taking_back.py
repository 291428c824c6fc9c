"""A decision that the person made otherwise takes the older one along; words that only sound so end nothing."""

from __future__ import annotations

from recollect.ingest.learnings.keep import overruled
from recollect.model.events import SourceLocation
from recollect.model.insights.nodes import Evidence
from tests.insights.learnings.test_settling import learning
from tests.insights.relations.test_links import decision, relate, told


def test_a_ban_of_one_thing_ends_nothing_that_only_mentions_it() -> None:
    policy = decision("a", 1, statement="the password policy is minimum twelve characters, one digit", status="ranked")
    ban = decision(
        "b", 2, "password", polarity="ban",
        statement="Never put a password in the repo, I'd rather have it prompt every time",
    )  # fmt: skip
    assert relate(policy, ban).links == []
    assert told(relate(decision("a", 1, statement="a password in the repo", status="ranked"), ban)) != set()


def test_words_about_the_same_thing_end_nothing_by_how_they_are_put() -> None:
    old = decision("a", 1, "run the linter", statement="Always run the linter before you commit.")
    word = decision("b", 2, statement="You can stop running the linter.", polarity="reverse")
    assert relate(old, word).links == []


def test_a_learning_ends_with_the_decision_that_its_words_are() -> None:
    same = learning("l1", "Always use MySQL here.", kind="preference")
    told_in = Evidence("claude:a", "e-l1", 0, "statement", SourceLocation("s-a", 1, 0, 9, 0, "00"), 1)
    old = decision("a", 1, "MySQL", statement="Always use MySQL here.", evidence=(told_in,))
    new = decision("b", 2, "PostgreSQL", "MySQL", statement="Use PostgreSQL here, not MySQL.")
    (link,) = relate(old, new).links
    assert (link.older, link.relation) == (old.id, "supersedes")
    assert overruled([same], [old, new], [(link.older, link.newer)]) == {"l1"}
    assert overruled([same], [old, new]) == set()
