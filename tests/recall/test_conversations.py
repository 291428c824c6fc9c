"""Sessions are ranked by all that was found in them, and length alone wins nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.recall.answers import Hit, conversations


def hit(session: str, score: float, *, seq: int = 0, more: int = 0) -> Hit:
    return Hit(
        f"claude:{session}", f"e{seq}", seq, "claude", None, "user_message", score, "s", "exact", session, 0, more
    )


def test_the_best_event_of_each_session_stands_for_it() -> None:
    found = conversations([hit("a", 9.0, seq=4), hit("b", 8.0), hit("a", 7.0, seq=2)])
    assert [(c.session_uid, c.best.seq, c.hits) for c in found] == [("claude:a", 4, 2), ("claude:b", 0, 1)]


def test_a_session_about_the_question_comes_before_one_that_mentions_it() -> None:
    hits = [hit("mentions", 10.0), hit("about", 9.5), hit("about", 9.0), hit("about", 8.0)]
    assert [c.session_uid for c in conversations(hits)] == ["claude:about", "claude:mentions"]


def test_many_weak_events_do_not_outdo_a_strong_one() -> None:
    hits = [hit("strong", 10.0), *(hit("long", 3.0, seq=n) for n in range(100))]
    assert conversations(hits)[0].session_uid == "claude:strong"


def test_hits_that_are_not_shown_are_counted() -> None:
    assert conversations([hit("a", 2.0, more=5), hit("a", 1.0, more=5)])[0].hits == 7


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0.01, 100)), max_size=40))
def test_every_session_comes_once_in_falling_order(found: list[tuple[str, float]]) -> None:
    hits = [hit(name, score) for name, score in sorted(found, key=lambda f: -f[1])]
    ranked = conversations(hits)
    assert sorted(c.session_uid for c in ranked) == sorted({h.session_uid for h in hits})
    assert [c.score for c in ranked] == sorted((c.score for c in ranked), reverse=True)
    assert sum(c.hits for c in ranked) == len(hits)
