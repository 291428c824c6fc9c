"""Of events about the same thing the one that answers comes first: late, at the end of a turn, in one passage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from recollect.index.candidates import Candidate, Wanted
from recollect.index.query.grammar import Clause
from recollect.index.ranking import WEIGHTS, Ranked
from recollect.index.units import Unit
from recollect.recall.passages import PASSAGE_CHARS
from recollect.recall.rerank.order import CLOSING, LATE, LATER_SESSION, LOOKED_AT, SCATTERED, look_again
from recollect.store.keys import ENTRY_BASE
from recollect.store.ports import HitText, SessionKey
from tests.recall.memories import MemoryOfTests

FILLER = "something else entirely "
FAR = " filler" * PASSAGE_CHARS


class Store:
    """Texts by key."""

    def __init__(self, texts: Mapping[int, HitText]) -> None:
        self._texts = texts
        self.asked: list[list[int]] = []

    def texts(self, keys: Sequence[int]) -> Mapping[int, HitText]:
        self.asked.append(list(keys))
        return {k: self._texts[k] for k in keys if k in self._texts}


def key_of(session: int, events: int = 100, root: int | None = None) -> SessionKey:
    return SessionKey(session, f"s{session}", f"s{root or session}", "claude", events, root is not None, None, None)


def item(key: int, score: float, voice: str = "reply") -> Ranked:
    return Ranked(Candidate(key, key >> 24, score, voice), score, 1.0)


def text_of(key: int, text: str = "a reply", kind: str = "assistant_message") -> HitText:
    return HitText("e", 0, key & 0xFFFFFF, kind, None, "s", "", "", text, False)


def scores(ranked: Sequence[Ranked], store: Store, wanted: Wanted | None = None) -> dict[int, float]:
    sessions = {i.candidate.session: key_of(i.candidate.session) for i in ranked}
    placed, _texts = look_again(ranked, wanted or Wanted(()), sessions, store)
    found = [i.score for i in placed]
    assert found == sorted(found, reverse=True)
    return {i.candidate.key: i.score for i in placed}


def test_what_an_agent_said_late_gains_in_proportion_and_a_prompt_nothing() -> None:
    first, middle, last, asked = (1 << 24 | n for n in (0, 50, 100, 99))
    found = scores([item(first, 2.0), item(middle, 1.8), item(last, 1.7), item(asked, 1.6, "prompt")], Store({}))
    assert found == pytest.approx({first: 2.0, middle: 1.8 + LATE, last: 1.7 + 2 * LATE, asked: 1.6})


def test_what_a_date_adds_makes_no_gain_larger() -> None:
    early, late = 1 << 24, 1 << 24 | 100
    ranked = [item(early, 1.0 + WEIGHTS.in_period), item(late, 0.9 + WEIGHTS.in_period)]
    for one in ranked:
        one.candidate.in_period = True
    assert scores(ranked, Store({}))[late] == pytest.approx(0.9 + WEIGHTS.in_period + LATE)


def test_a_session_that_has_grown_since_gives_no_more_than_the_end() -> None:
    beyond = 1 << 24 | 5000
    assert scores([item(beyond, 1.0)], Store({})) == pytest.approx({beyond: 1 + LATE})


def test_what_is_in_no_session_counts_as_the_middle() -> None:
    entry = (ENTRY_BASE + 1) << 24 | 9
    assert scores([item(entry, 1.0, "document")], Store({})) == pytest.approx({entry: 1 + LATE / 2})


def test_a_reply_that_closes_a_turn_gains() -> None:
    one, two = 1 << 24, 1 << 24 | 1
    store = Store({one: text_of(one), two: text_of(two)._replace(is_closing=True)})
    assert scores([item(one, 1.0), item(two, 0.95)], store)[two] == pytest.approx(0.95 + LATE / 100 + CLOSING)


def test_sessions_found_later_lose_and_a_subagent_is_of_its_root() -> None:
    keys = [n << 24 for n in (1, 2, 3)]
    ranked = [item(k, 1 - n / 10) for n, k in enumerate(keys)]
    sessions = {1: key_of(1), 2: key_of(2, root=1), 3: key_of(3)}
    placed, _texts = look_again(ranked, Wanted(()), sessions, Store({}))
    assert [i.score for i in placed] == pytest.approx([1, 0.9, 0.8 - LATER_SESSION * 0.6931472])


def test_what_is_scattered_over_a_text_loses() -> None:
    units = tuple(Unit(Clause(w), w, terms=((w, 1.0),), frequency=2, idf=1.0) for w in ("zebra", "lock"))
    one, two = 1 << 24, 1 << 24 | 1
    store = Store({one: text_of(one, f"zebra{FAR} lock"), two: text_of(two, f"a zebra lock{FAR}")})
    found = scores([item(one, 1.0), item(two, 0.9)], store, Wanted(units))
    assert found == pytest.approx({one: 1 - SCATTERED / 2, two: 0.9 + LATE / 100})


def test_beyond_those_looked_at_nothing_moves_or_is_read() -> None:
    ranked = [item(1 << 24 | n, 1 - n / 100) for n in range(2 * LOOKED_AT)]
    store = Store({})
    placed, _texts = look_again(ranked, Wanted(()), {1: key_of(1, 1_000_000)}, store)
    assert placed[LOOKED_AT:] == ranked[LOOKED_AT:]
    assert store.asked == [[i.candidate.key for i in ranked[:LOOKED_AT]]]
    units = tuple(Unit(Clause(w), w, terms=((w, 1.0),), frequency=2, idf=1.0) for w in ("zebra", "lock"))
    first = ranked[0].candidate.key
    scattered = Store({first: text_of(first, f"zebra{FAR} lock")})
    found = scores(ranked, scattered, Wanted(units))
    assert found[first] >= ranked[LOOKED_AT].score


def answers(memory: MemoryOfTests, query: str) -> list[int]:
    return [hit.seq for hit in memory.ask(query).hits if hit.session_uid == "claude:1"]


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
