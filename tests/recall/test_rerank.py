"""The best events of a question are ordered by their passages: by words, meaning, session, place and kind together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.index.query.candidates import Candidate
from recollect.index.query.grammar import Clause
from recollect.index.query.query_units import Unit
from recollect.index.query.ranking import Ranked
from recollect.index.vectors.texts import Passage
from recollect.recall.question_kinds import sought_in
from recollect.recall.rerank import (
    LOOKED_AT,
    MOST_OF_EVENT,
    SEAT,
    SHORT_CHARS,
    SHOWN_PASSAGES,
    Comparison,
    Contextual,
    Features,
    PassageMatch,
    QuestionMeaning,
    Valued,
    reorder,
    rerank,
    seated,
    value,
)
from recollect.recall.snippets import Passages
from recollect.store.row_keys import ENTRY_BASE
from recollect.store.rows import HitText, SessionKey
from tests.recall.memories import MemoryOfTests

if TYPE_CHECKING:
    from recollect.index.vectors.vector_index import Vectors
    from recollect.store.reader import HitTexts

FILLER = "something else entirely "
FAR = "filler words. " * 60


def key_of(session: int, events: int = 100, root: int | None = None) -> SessionKey:
    return SessionKey(session, f"s{session}", f"s{root or session}", "claude", events, root is not None, None, None)


def item(key: int, score: float = 1.0, voice: str = "reply") -> Ranked:
    return Ranked(Candidate(key, key >> 24, score, voice), score, 1.0)


def text_of(key: int, text: str = "a reply", kind: str = "assistant_message") -> HitText:
    return HitText("e", 0, key & 0xFFFFFF, kind, None, "s", "", "", text, False)


def word(label: str, idf: float = 1.0) -> Unit:
    return Unit(Clause(label), label, terms=((label, 1.0),), frequency=2, idf=idf)


def features(
    ranked: Sequence[Ranked],
    texts: Mapping[int, HitText],
    *,
    near: Mapping[int, PassageMatch] | None = None,
    sessions: Mapping[int, SessionKey] | None = None,
    words: Sequence[Unit] = (),
    question: str = "",
) -> dict[int, list[Features]]:
    known = sessions or {one.candidate.session: key_of(one.candidate.session) for one in ranked}
    found: dict[int, list[Features]] = {}
    for one in value(ranked, texts, near or {}, known, Passages(words), sought_in(question)):
        found.setdefault(one.key, []).append(one.features)
    return found


def test_what_an_agent_said_is_late_in_proportion_and_a_prompt_is_not() -> None:
    keys = [1 << 24 | n for n in (0, 50, 100, 5000)]
    asked, entry = 1 << 24 | 99, (ENTRY_BASE + 1) << 24 | 9
    ranked = [*map(item, keys), item(asked, voice="prompt"), item(entry, voice="document")]
    found = features(ranked, {key: text_of(key) for key in (*keys, asked, entry)})
    assert [found[key][0].late for key in (*keys, asked, entry)] == [0.0, 0.5, 1.0, 1.0, 0.0, 0.5]


def test_scores_are_shares_of_the_best() -> None:
    one, two = 1 << 24, 1 << 24 | 1
    found = features([item(one, 4.0), item(two, 1.0)], {one: text_of(one), two: text_of(two)})
    assert (found[one][0].score, found[two][0].score) == (1.0, 0.25)


def test_a_subagent_has_the_place_of_its_root_session() -> None:
    keys = [n << 24 for n in (1, 2, 3)]
    sessions = {1: key_of(1), 2: key_of(2, root=1), 3: key_of(3)}
    found = features([*map(item, keys)], {key: text_of(key) for key in keys}, sessions=sessions)
    assert [found[key][0].later_session for key in keys] == pytest.approx([0, 0, 0.6931472])


def test_the_kind_of_an_event_and_its_length_are_told() -> None:
    texts = {
        1 << 24: text_of(1 << 24, "x" * SHORT_CHARS, "thinking"),
        1 << 24 | 1: text_of(1 << 24 | 1, "ok")._replace(is_closing=True),
        1 << 24 | 2: text_of(1 << 24 | 2, "", "tool_call")._replace(summary="ls"),
    }
    found = [features([item(key)], texts)[key][0] for key in texts]
    assert [(one.thinking, one.short, one.closing) for one in found] == [(1, 0, 0), (0, 1, 1), (0, 1, 0)]


@pytest.mark.parametrize(
    ("question", "has_one", "has_none"),
    [
        ("how many tests were left?", "There were 19 left.", "Some were left."),
        ("where did the reviewer save its notes?", "They are in docs/review.md.", "They were saved."),
        ("which command did we use for that?", "We used `make report`.", "We used the report."),
        ("what did pnpm complain about?", "It failed without a lock file.", "It went through."),
        ("which commit brought the change?", "That was 87d9a55.", "That was the last one."),
        ("why is there only one link?", "Because nobody used the others.", "There is one link."),
    ],
)
def test_a_passage_is_told_by_whether_it_has_what_is_asked_for(question: str, has_one: str, has_none: str) -> None:
    texts = {1 << 24: text_of(1 << 24, has_one), 1 << 24 | 1: text_of(1 << 24 | 1, has_none)}
    found = features([item(key) for key in texts], texts, question=question)
    assert [found[key][0].sought for key in texts] == [1.0, 0.0]


def test_what_later_replies_of_the_session_take_up_is_settled_by_them() -> None:
    first, other, reply, elsewhere = 1 << 24, 1 << 24 | 1, 1 << 24 | 2, 2 << 24
    texts = {
        first: text_of(first, "The zebra has a lock."),
        other: text_of(other, "Nothing of it."),
        reply: text_of(reply, "The zebra has no lock."),
        elsewhere: text_of(elsewhere, "A zebra with a lock."),
    }
    found = features([item(key) for key in texts], texts, words=[word("zebra"), word("lock")])
    assert [found[key][0].settled > 0 for key in texts] == [True, True, False, False]


def test_every_passage_has_the_share_of_words_that_it_holds() -> None:
    one = 1 << 24
    text = f"The zebra. {FAR} The lock. {FAR} Both the zebra and the lock."
    found = features([item(one)], {one: text_of(one, text)}, words=[word("zebra", 3.0), word("lock", 1.0)])
    shares = [passage.words for passage in found[one]]
    assert shares[0] == 0.75
    assert shares[-1] == 1.0
    assert {0.0, 0.25} <= set(shares)


def test_nearness_is_of_the_event_the_passage_and_the_session() -> None:
    one, two, other, unknown = 1 << 24, 1 << 24 | 1, 2 << 24, 3 << 24
    text = "first part. " * 50 + "second part. " * 50
    near = {
        one: PassageMatch(0.8, ((Passage(0, 600), 0.8), (Passage(600, len(text)), 0.2))),
        two: PassageMatch(0.4, ((Passage(0, 7), 0.4),)),
        other: PassageMatch(0.6, ((Passage(0, 7), 0.6),)),
    }
    texts = {key: text_of(key) for key in (two, other, unknown)} | {one: text_of(one, text)}
    found = features([*map(item, (one, two, other, unknown))], texts, near=near)
    assert found[one][0].nearer == 0.0
    assert found[one][-1].nearer == pytest.approx(-0.6)
    assert found[two][0].session_nearest == 0.8
    assert found[two][0].session_near == pytest.approx((0.8 + 0.4 + 0.6) / 3)  # the mean of all stands for a third
    assert (found[unknown][0].near, found[unknown][0].nearer) == (pytest.approx(0.6), 0.0)


def valued(*passages: tuple[int, int, float]) -> list[Valued]:
    return [Valued(key, Passage(start, start + 100), Features(words=words)) for key, start, words in passages]


def test_an_event_comes_where_its_best_passage_puts_it_and_keeps_the_scores_in_order() -> None:
    found = reorder(
        valued((1, 0, 0.1), (1, 500, 0.9), (2, 0, 0.5)), [item(2, 3.0), item(1, 2.0), item(3, 1.0)], Features(words=1.0)
    )
    assert [(one.candidate.key, one.score) for one in found.ranked] == [(1, 3.0), (2, 2.0), (3, 1.0)]
    assert found.shown[1] == [Passage(0, 100), Passage(500, 600)]


def test_passages_that_touch_are_shown_as_one_and_those_far_down_only_where_they_are_the_best_of_their_event() -> None:
    many = [(1, at * 100, 1.0 - at / 100) for at in range(SHOWN_PASSAGES + 5)]
    found = reorder(valued(*many, (2, 0, 0.0), (2, 900, 0.01)), [item(1), item(2)], Features(words=1.0))
    assert found.shown == {1: [Passage(0, MOST_OF_EVENT * 100)], 2: [Passage(900, 1000)]}


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 50), st.floats(-5, 5)), max_size=40),
    st.lists(st.floats(0, 10), min_size=10, max_size=20),
)
def test_nothing_is_lost_and_scores_stay_in_order(some: list[tuple[int, int, float]], scores: list[float]) -> None:
    before = [item(key, score) for key, score in enumerate(sorted(scores, reverse=True))]
    found = reorder(valued(*some), before, Features(words=1.0))
    assert sorted(one.candidate.key for one in found.ranked) == sorted(one.candidate.key for one in before)
    assert set(found.shown) == {key for key, _, _ in some}
    ranked = [one.score for one in found.ranked[: len(found.shown)]]
    assert ranked == sorted(ranked, reverse=True)


@given(st.integers(1, 12), st.integers(0, 14))
def test_the_nearest_talk_has_a_seat_and_the_others_keep_their_order(count: int, key: int) -> None:
    ranked = [item(number, 1 / (number + 1)) for number in range(count)]
    placed = seated(ranked, key)
    keys = [one.candidate.key for one in placed]
    assert [one for one in keys if one != key] == [one for one in range(count) if one != key]
    assert key >= count or keys.index(key) == min(key, SEAT)
    assert [one.score for one in placed] == sorted((one.score for one in placed), reverse=True)
    assert seated(ranked, None) == ranked


def answers(memory: MemoryOfTests, query: str) -> list[int]:
    return [hit.seq for hit in memory.ask(query).hits if hit.session_uid == "claude:1"]


class Noting(Contextual):
    """Notes in which order it is asked to compare: only the first few of what has no vector yet are read."""

    def __init__(self, near: int | None = None) -> None:
        self.asked: list[int] = []
        self._near = near

    def nearest(self, vector: Vectors, keys: Collection[int]) -> list[int]:
        return [key for key in keys if key == self._near]

    def compare(self, vector: Vectors, texts: Mapping[int, HitText]) -> Comparison:
        self.asked += texts
        return Comparison(unread=len(texts))


def test_the_best_candidates_are_compared_first_not_the_oldest(memory: MemoryOfTests) -> None:
    memory.session(1)
    keys = [memory.say(1, f"{FILLER}{number}", kind="assistant_message") for number in range(5)]
    ranked, noting = [item(key, float(key)) for key in reversed(keys)], Noting()
    meant = QuestionMeaning(np.zeros((1, 4), "<f4")[0])
    sessions = memory.session_keys([1])
    found = rerank(
        ranked, (), sessions, meant, store=cast("HitTexts", memory), contextual=noting, sought=(), is_unsure=False
    )
    assert noting.asked == keys[::-1]
    assert found.notes == ("5 of 5 candidates not compared by meaning yet: `recollect embed` reads the rest",)


def test_a_candidate_near_in_meaning_is_looked_at_wherever_its_words_place_it(memory: MemoryOfTests) -> None:
    memory.session(1)
    keys = [memory.say(1, f"{FILLER}{number}", kind="assistant_message") for number in range(LOOKED_AT + 9)]
    ranked, noting = [item(key, -float(key)) for key in keys], Noting(near=keys[-2])
    rerank(
        ranked, (), memory.session_keys([1]), QuestionMeaning(np.zeros((1, 4), "<f4")[0]),
        store=cast("HitTexts", memory), contextual=noting, sought=(), is_unsure=False,
    )  # fmt: skip
    assert noting.asked == [*keys[:LOOKED_AT], keys[-2]]


def test_asked_a_question_the_conclusion_comes_before_the_plan(memory: MemoryOfTests) -> None:
    memory.session(1)
    plan = memory.say(1, "The zebra cache is probably emptied by the job.", kind="assistant_message")
    for number in range(40):
        memory.say(1, f"{FILLER}{number}", kind="thinking")
    end = memory.say(1, "The zebra cache is in truth emptied by the hook.", kind="assistant_message")
    memory.session(2)
    memory.say(2, FILLER, kind="assistant_message")
    memory.closers.add(end)
    assert answers(memory, "What is the zebra cache emptied by?") == [end & 0xFFFFFF, plan & 0xFFFFFF]


def test_a_long_text_is_shown_with_the_passage_that_answers(memory: MemoryOfTests) -> None:
    memory.session(1)
    memory.say(1, f"{FAR * 4}\n\nThe zebra cache is emptied by the hook.\n\n{FAR * 4}", kind="assistant_message")
    (hit,) = memory.ask("What is the zebra cache emptied by?").hits
    assert "emptied by the hook" in hit.passage
    assert hit.passage.endswith("…")
    assert len(hit.passage) < 2000


def test_the_first_hit_keeps_the_score_of_the_answer(memory: MemoryOfTests) -> None:
    memory.session(1)
    memory.say(1, "The zebra cache is probably emptied by the job.", kind="assistant_message")
    end = memory.say(1, "The zebra cache is emptied by the hook.", kind="assistant_message")
    question = "What is the zebra cache emptied by?"
    before = memory.ask(question).hits[0]
    memory.closers.add(end)
    after = memory.ask(question).hits
    assert after[0].score == before.score
    assert [hit.score for hit in after] == sorted((hit.score for hit in after), reverse=True)
