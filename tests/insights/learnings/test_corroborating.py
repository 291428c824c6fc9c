"""What several sessions say of one thing: one learning, the same in whatever order they were read."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.learnings.corroboration import (
    DAY_US,
    EACH_TIME,
    MOST_EVIDENCE,
    MOST_SEEN_AGAIN,
    SEEN_AGAIN,
    combined,
    said_by_user,
    times_seen,
)
from recollect.insights.learnings.identity import confidence_of
from recollect.model.learnings.learnings import Learning, LearningEvidence
from recollect.store.learnings import BY_CLOSING, BY_RULES, Sighting

T0 = 1_780_000_000_000_000


def sighting(session: str, event: str = "", **fields: object) -> Sighting:
    """What one session says, at the event of the same name unless another one is named."""
    ts = fields.pop("ts", T0)
    evidence = LearningEvidence(session, event or f"e-{session}", 0, "user", 3, ts, "use pnpm")  # type: ignore[arg-type]
    features = {"explicit": 0.7}
    learning = Learning(
        id="l1", kind="preference", text="Use pnpm", scope="user", features=features,
        confidence=confidence_of(features), recorded_at=T0, evidence=(evidence,), extractor="rules@1",
    )  # fmt: skip
    return Sighting(session, BY_RULES, msgspec.structs.replace(learning, **fields))


def test_nobody_saying_anything_is_nothing() -> None:
    assert combined([], action_days=14) is None
    assert combined([sighting("claude:a")._replace(origin=BY_CLOSING)], action_days=14) is None


def test_every_further_session_makes_it_surer_up_to_a_bound_and_says_so() -> None:
    for number in (1, 2, 3, 20):
        found = combined([sighting(f"claude:{n}") for n in range(number)], action_days=14)
        assert found is not None
        again = round(min(MOST_SEEN_AGAIN, EACH_TIME * (number - 1)), 3)
        assert found.features == {"explicit": 0.7} | ({SEEN_AGAIN: again} if again else {})
        assert found.confidence == confidence_of(found.features)
        assert len(found.evidence) == number


def test_a_fork_that_repeats_an_event_counts_once_for_all() -> None:
    said = [sighting("claude:a", "same"), sighting("claude:fork", "same"), sighting("claude:other")]
    assert times_seen(said) == 2
    found = combined(said, action_days=14)
    assert found is not None
    assert said_by_user(found) == 2


def test_the_words_are_the_first_ones_and_the_time_is_of_all() -> None:
    late = sighting("claude:a", text="use PNPM", ts=T0 + DAY_US, recorded_at=T0 + DAY_US, valid_from=T0 + DAY_US)
    early = sighting("claude:b", valid_from=T0)
    found = combined([late, early], action_days=14)
    assert found is not None
    assert (found.text, found.recorded_at, found.valid_from) == ("Use pnpm", T0, T0)
    assert [e.session_uid for e in found.evidence] == ["claude:b", "claude:a"]


def test_what_two_agents_were_told_holds_for_all_of_them() -> None:
    one, other = sighting("claude:a", agent="claude"), sighting("codex:b", agent="codex")
    assert [
        found and found.agent for found in (combined([one], action_days=1), combined([one, other], action_days=1))
    ] == [
        "claude",
        "",
    ]


def test_rules_outrank_what_a_model_said_of_the_same() -> None:
    model = sighting("claude:a", status="hypothesis", extractor="model@1/1")._replace(origin="model:x")
    found = combined([model, sighting("claude:a")], action_days=14)
    assert found is not None
    assert found.status == "derived"
    assert times_seen([model, sighting("claude:a")]) == 1


def test_an_action_expires_after_it_was_spoken_of_last_unless_it_says_when() -> None:
    spoken = [sighting("claude:a", kind="action"), sighting("claude:b", kind="action", ts=T0 + DAY_US)]
    found = combined(spoken, action_days=14)
    assert found is not None
    assert found.expires_at == T0 + 15 * DAY_US
    stated = combined([*spoken, sighting("claude:c", kind="action", expires_at=T0 + 3 * DAY_US)], action_days=14)
    assert stated is not None
    assert stated.expires_at == T0 + 3 * DAY_US
    assert (combined([sighting("claude:a")], action_days=14) or spoken[0].learning).expires_at is None


def test_the_most_pressing_priority_holds() -> None:
    found = combined([sighting("claude:a"), sighting("claude:b", priority="urgent")], action_days=14)
    assert found is not None
    assert found.priority == "urgent"


def test_of_very_much_evidence_the_oldest_and_the_newest_are_kept() -> None:
    found = combined([sighting(f"claude:{n:03}", ts=T0 + n) for n in range(300)], action_days=14)
    assert found is not None
    assert len(found.evidence) == MOST_EVIDENCE
    assert (found.evidence[0].ts, found.evidence[-1].ts) == (T0, T0 + 299)


sightings = st.lists(
    st.builds(
        lambda session, event, ts, text, strength, agent: sighting(
            f"claude:{session}", f"e{event}", ts=ts and T0 + ts, text=text, features={"x": strength},
            confidence=confidence_of({"x": strength}), agent=agent, recorded_at=T0 + (ts or 0),
        ),
        st.integers(0, 5), st.integers(0, 5), st.one_of(st.none(), st.integers(1, 9)),
        st.sampled_from(["Use pnpm", "use pnpm", "use PNPM!"]), st.sampled_from([0.3, 0.5, 0.9]),
        st.sampled_from(["", "claude"]),
    ),
    max_size=8, unique_by=lambda s: s.session_uid,
)  # fmt: skip


@given(said=sightings, order=st.randoms(use_true_random=False))
def test_the_order_in_which_sessions_are_read_changes_nothing(said: list[Sighting], order: object) -> None:
    shuffled = list(said)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    assert combined(shuffled, action_days=14) == combined(said, action_days=14)
