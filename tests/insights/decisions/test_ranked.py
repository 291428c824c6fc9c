"""Decisions that learned weights find beside the rules: marked, bounded, the same everywhere."""

from __future__ import annotations

import zlib
from importlib.resources import files

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.insights import analyse, default_stages
from recollect.insights.decisions.ranked import OF_A_TURN, DecisionRanker
from recollect.insights.scorer import SentenceScorer
from recollect.insights.scorer.features import SENTENCES, Turn, features_of
from recollect.insights.scorer.few_sentences import few_features_of
from recollect.insights.scorer.weights import ABOUT_FILE, TABLES_FILE, checked, weights
from recollect.insights.stages import Lineage
from recollect.model.events import Event
from recollect.model.insights.nodes import Binding, Decision, Speaker
from tests.insights.decisions.stories import said
from tests.insights.decisions.test_laws import SPEAKERS, TEXTS
from tests.insights.test_invariants import encode, sessions

WITH = default_stages(is_ranked=True)
WITHOUT = default_stages()
TALK = "we had that once and the deploy hung"
PROPOSAL = "I could put it behind a queue."


def ranked(*messages: tuple[Speaker, str]) -> list[Decision]:
    found = analyse(said(*messages).events, stages=WITH).nodes
    return [node for node in found if isinstance(node, Decision) and node.status == "ranked"]


def test_plain_talk_that_no_rule_understands_is_a_decision_and_says_how_it_is_known() -> None:
    (found,) = ranked(("human", "make the import robust"), ("assistant", PROPOSAL), ("human", TALK))
    assert found.statement == TALK
    assert found.features == {"scorer": found.confidence}
    assert 0.5 < found.confidence < 1
    assert (found.options, found.conversation) == ((), "")  # nobody knows them surely


def test_a_statement_keeps_both_marks_around_its_label() -> None:
    label = "**Retry:** we had that once and the deploy hung"
    (found,) = ranked(("human", "make the import robust"), ("assistant", PROPOSAL), ("human", label))
    assert found.statement == label


def test_narration_thanks_and_questions_are_none() -> None:
    assert ranked(("human", "thanks, looks good"), ("assistant", "Now I'll run the tests.")) == []
    assert ranked(("human", "can you look at why the login fails?")) == []
    assert ranked(("human", "how should we do it"), ("assistant", PROPOSAL), ("human", "yes, go on")) == []


def test_what_a_rule_finds_is_not_found_again() -> None:
    (found,) = analyse(said(("human", "Use Postgres instead of MySQL.")).events, stages=WITH).nodes[1:]
    assert isinstance(found, Decision)
    assert found.status == "derived"


def test_it_holds_no_longer_where_a_later_decision_turns_down_what_its_words_name() -> None:
    (found,) = ranked(("human", "make the import robust"), ("assistant", PROPOSAL), ("human", TALK))
    unsure = msgspec.structs.replace(found, statement="We use requests for the HTTP client.")
    later = said(("human", "Replace requests with httpx for the HTTP client.")).events
    other = [msgspec.structs.replace(e, session_uid="made:later", event_id="later", ts=1_000) for e in later]
    (sure,) = [node for node in analyse(other, stages=WITH).nodes if isinstance(node, Decision)]
    assert sure.status == "derived"
    lineage = {uid: Lineage("", "", "shop") for uid in (unsure.session_uid, sure.session_uid)}
    for both in ([unsure, sure], [sure, unsure]):
        (link,) = WITH.relator.relate(both, [], lineage).links
        assert (link.newer, link.older, link.relation) == (sure.id, unsure.id, "supersedes")
    earlier = msgspec.structs.replace(sure, ts=-1)
    assert WITH.relator.relate([unsure, earlier], [], lineage).links == []


def test_a_sentence_that_tells_a_credential_is_kept_nowhere() -> None:
    secret = "we had that once with the staging password hunter2-hunter2 and the deploy hung"
    assert ranked(("human", "make it robust"), ("assistant", PROPOSAL), ("human", secret)) == []


def test_weights_that_are_damaged_are_not_used() -> None:
    shipped = weights()
    assert shipped.missing == ""
    assert shipped.about is not None
    about, tables = (
        files("recollect.insights.scorer").joinpath(name).read_bytes() for name in (ABOUT_FILE, TABLES_FILE)
    )
    assert len(tables) <= 2_000_000
    assert checked(about, tables).missing == ""
    for changed in (bytes(len(tables)), tables[:-1], b""):
        assert checked(about, changed).missing == "the weights of the scorer are damaged"
    for changed in (b"", about[:40], b"\xff", b"sha256 = 1"):
        damaged = checked(changed, tables)
        assert damaged.missing == "the weights of the scorer are damaged"
    scorer = SentenceScorer(damaged)
    assert scorer.scores(Turn(TALK, "human"), ("decision",)) == []
    assert DecisionRanker(scorer).decisions(said(("human", TALK)), []) == []


def test_the_places_of_features_are_the_same_on_every_machine() -> None:
    """Whoever changes them trains new weights: `python -m benchmarks.distilling.train --write`."""
    turn = Turn("Nimm lieber SQLite. 用 Redis! See `a.py` …\n- keep it", "human", "Which one?", "Done.", is_edited=True)
    features = features_of(turn)
    told = ",".join(
        f"{owner}:{place}"
        for owner, place in sorted(set(zip(features.owners.tolist(), features.places.tolist(), strict=True)))
    )
    assert zlib.crc32(told.encode()) == 3420332498


@given(TEXTS, SPEAKERS, TEXTS, TEXTS)
def test_a_score_is_the_sum_of_whole_weights_for_any_text(text: str, speaker: Speaker, before: str, after: str) -> None:
    turn = Turn(text, speaker, before, after)
    known, features = weights(), features_of(turn)
    assert known.about is not None
    found = SentenceScorer().scores(turn, ("decision", "action"))
    assert len(found) <= SENTENCES
    for number, (sentence, scores) in enumerate(found):
        assert 0 <= sentence.start < sentence.end <= len(text)
        own = {int(place) for owner, place in zip(features.owners, features.places, strict=True) if owner == number}
        for subject, score in scores.items():
            assert score == known.about.tables[subject].bias + sum(int(known.tables[subject][place]) for place in own)


@given(TEXTS, SPEAKERS, TEXTS, TEXTS, st.booleans())
def test_few_sentences_have_the_same_features_without_numpy(
    text: str, speaker: Speaker, before: str, after: str, is_edited: bool
) -> None:
    turn = Turn(text, speaker, before, after, is_edited)
    features, few = features_of(turn), few_features_of(turn)
    assert [one.sentence for one in few] == features.sentences
    for number, one in enumerate(few):
        own = {int(place) for owner, place in zip(features.owners, features.places, strict=True) if owner == number}
        assert one.places == own


@settings(max_examples=100)
@given(sessions())
def test_nothing_that_rules_establish_changes_and_what_rests_on_weights_is_marked(events: list[Event]) -> None:
    alone, both = analyse(events, stages=WITHOUT), analyse(events, stages=WITH)
    assert encode([node for node in both.nodes if node.status != "ranked"]) == encode(alone.nodes)
    found = {node.id for node in both.nodes if isinstance(node, Decision) and node.status == "ranked"}
    for node in both.nodes:
        assert not isinstance(node, Binding) or (node.source in found) == (node.status == "ranked")
    assert encode(analyse(events, stages=WITH).nodes) == encode(both.nodes)


@given(
    st.lists(
        st.sampled_from([TALK, "no need for a cache here, the list has twelve entries", "Now I'll run them."]),
        min_size=1,
        max_size=30,
    )
)
def test_of_a_message_few_are_told(sentences: list[str]) -> None:
    assert len(ranked(("assistant", PROPOSAL), ("human", ". ".join(sentences)))) <= OF_A_TURN


TURNS = st.lists(st.builds(Turn, TEXTS, SPEAKERS, TEXTS, TEXTS, st.booleans()), max_size=40)


@settings(max_examples=50)
@given(TURNS)
def test_turns_are_scored_together_as_they_are_one_by_one(turns: list[Turn]) -> None:
    scorer = SentenceScorer()
    together = list(scorer.scores_of(turns, ("decision", "learning")))
    assert together == [scorer.scores(turn, ("decision", "learning")) for turn in turns]
    likely = [[(scores["decision"], one) for one, scores in of_turn] for of_turn in together]
    sure = [[(score, one) for score, one in of_turn if scorer.confidence("decision", score)] for of_turn in likely]
    assert list(scorer.likely_of(turns, "decision")) == sure
