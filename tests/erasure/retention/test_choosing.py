"""Which sessions go: laws over any holdings and limits."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from recollect.erasure.retention import Choice, KeepGone, RetentionLimits, choose, overflowing
from recollect.store.erasure.evict_rows import Holding, Holdings, SharedChunk

NOW = 1_000_000
GONE: tuple[KeepGone, ...] = ("age", "always", "never")


def holding(uid: str, **given_: object) -> Holding:
    base = Holding(uid, "claude", "shop", 10, None, 10, 10, True, False, False, 100, 10)
    return base._replace(**given_)  # type: ignore[arg-type]


@st.composite
def holdings(draw: st.DrawFn) -> Holdings:
    """Draw sessions of which some are not analysed, pinned, gone, or share chunks."""
    chunks = draw(st.integers(0, 4))
    sessions = []
    for number in range(draw(st.integers(0, 8))):
        analyzed = draw(st.none() | st.integers(0, 20))
        archive = draw(st.integers(0, 200))
        sessions.append(
            Holding(
                session_uid=f"claude:{number}",
                agent="claude",
                repo="shop",
                analyzed_at=analyzed,
                evicted_at=None,
                last_at=draw(st.integers(0, NOW)),
                taken_at=draw(st.integers(0, NOW)),
                is_covered=analyzed is not None and draw(st.booleans()),
                is_gone=draw(st.booleans()),
                is_pinned=draw(st.booleans()),
                archive_bytes=archive,
                text_bytes=draw(st.integers(0, 50)),
                shared=tuple(sorted(draw(st.sets(st.integers(1, chunks)))) if chunks else ()),
                large_bytes=draw(st.integers(0, archive)),
            )
        )
    holders = Counter(chunk for s in sessions for chunk in s.shared)
    return Holdings(sessions, {chunk: SharedChunk(draw(st.integers(1, 90)), n) for chunk, n in holders.items()})


@st.composite
def limits(draw: st.DrawFn) -> RetentionLimits:
    soft = draw(st.integers(0, 1500))
    age = draw(st.none() | st.integers(0, NOW))
    return RetentionLimits(soft, soft + draw(st.integers(0, 500)), age, draw(st.sampled_from(GONE)))


def left_after(held: Holdings, choice: Choice) -> int:
    """Return what is left when exactly the steps are done: counted anew, not as `choose` counts."""
    gone = {step.session_uid for step in choice.steps if step.part == "all"}
    large = {step.session_uid for step in choice.steps if step.part == "large"}
    stay = [s for s in held.sessions if s.session_uid not in gone]
    own = sum(s.archive_bytes + s.text_bytes - (s.large_bytes if s.session_uid in large else 0) for s in stay)
    return own + sum(held.shared[n].stored_bytes for n in {n for s in stay for n in s.shared})


@given(held=holdings(), bounds=limits())
def test_nothing_goes_before_its_digest_covers_its_last_record(held: Holdings, bounds: RetentionLimits) -> None:
    by_uid = {s.session_uid: s for s in held.sessions}
    for step in choose(held, bounds, now_us=NOW).steps:
        assert by_uid[step.session_uid].is_covered
    for step in overflowing(held, bounds).steps:
        assert by_uid[step.session_uid].is_covered != (step.reason == "data_loss")


@given(held=holdings(), bounds=limits())
def test_what_is_pinned_never_goes(held: Holdings, bounds: RetentionLimits) -> None:
    pinned = {s.session_uid for s in held.sessions if s.is_pinned}
    steps = (*choose(held, bounds, now_us=NOW).steps, *overflowing(held, bounds).steps)
    assert not pinned & {step.session_uid for step in steps}


@given(held=holdings(), bounds=limits())
def test_the_bytes_told_are_the_bytes_that_go(held: Holdings, bounds: RetentionLimits) -> None:
    for choice in (choose(held, bounds, now_us=NOW), overflowing(held, bounds)):
        assert choice.raw_bytes == held.raw_bytes
        assert choice.left_bytes == left_after(held, choice) == held.raw_bytes - sum(s.bytes for s in choice.steps)


@given(held=holdings(), bounds=limits())
def test_the_budget_takes_the_oldest_first_and_stops_in_time(held: Holdings, bounds: RetentionLimits) -> None:
    choice = choose(held, bounds, now_us=NOW)
    by_uid = {s.session_uid: s for s in held.sessions}
    taken = [step for step in choice.steps if step.reason == "budget"]
    order = [(by_uid[s.session_uid].last_at, s.session_uid) for s in taken]
    assert order == sorted(order)
    if taken:  # before the last step it was not enough
        assert choice.left_bytes + taken[-1].bytes > bounds.soft_cap_bytes
    if choice.left_bytes > bounds.soft_cap_bytes:  # then nothing is left that may go
        gone = {step.session_uid for step in choice.steps}
        for s in held.sessions:
            may_go = s.is_covered and not s.is_pinned and not (s.is_gone and bounds.keep_gone == "always")
            assert not may_go or s.session_uid in gone or not (s.archive_bytes or s.text_bytes or s.shared)


@given(held=holdings(), bounds=limits())
def test_large_results_go_alone_exactly_where_they_are_enough(held: Holdings, bounds: RetentionLimits) -> None:
    choice = choose(held, bounds, now_us=NOW)
    budget = [step for step in choice.steps if step.reason == "budget"]
    assert len({step.part for step in budget}) <= 1
    if any(step.part == "large" for step in budget):
        assert choice.left_bytes <= bounds.soft_cap_bytes


@given(held=holdings(), bounds=limits())
def test_age_takes_what_is_old_and_spares_the_only_copy_as_configured(held: Holdings, bounds: RetentionLimits) -> None:
    aged = {s.session_uid for s in choose(held, bounds, now_us=NOW).steps if s.reason == "age"}
    for s in held.sessions:
        is_old = bounds.max_age_us is not None and max(s.last_at, s.taken_at) <= NOW - bounds.max_age_us
        is_spared = s.is_pinned or not s.is_covered or (s.is_gone and bounds.keep_gone != "never")
        holds = bool(s.archive_bytes or s.text_bytes or s.shared)
        assert (s.session_uid in aged) == (is_old and not is_spared and holds)


@given(held=holdings(), bounds=limits())
def test_the_last_resort_takes_the_oldest_unanalysed_last_and_only_as_many_as_it_must(
    held: Holdings, bounds: RetentionLimits
) -> None:
    choice = overflowing(held, bounds)
    by_uid = {s.session_uid: s for s in held.sessions}
    reasons = [step.reason for step in choice.steps]
    assert reasons == sorted(reasons, key=["overflow", "data_loss"].index)
    lost = [by_uid[step.session_uid].last_at for step in choice.steps if step.reason == "data_loss"]
    assert lost == sorted(lost)
    if choice.steps:
        assert choice.left_bytes + choice.steps[-1].bytes > bounds.hard_cap_bytes


@given(held=holdings(), bounds=limits(), order=st.randoms(use_true_random=False))
def test_the_order_of_what_is_given_is_no_matter(held: Holdings, bounds: RetentionLimits, order: object) -> None:
    mixed = list(held.sessions)
    order.shuffle(mixed)  # type: ignore[attr-defined]
    again = held._replace(sessions=mixed)
    assert choose(again, bounds, now_us=NOW) == choose(held, bounds, now_us=NOW)
    assert overflowing(again, bounds) == overflowing(held, bounds)


@given(held=holdings(), bounds=limits(), marks=st.randoms(use_true_random=False))
def test_when_a_session_was_analysed_is_no_matter(
    held: Holdings, bounds: RetentionLimits, marks: random.Random
) -> None:
    """After an import all have one time of that, or the times of whichever order they were analysed in."""
    again = held._replace(sessions=[s._replace(analyzed_at=marks.randrange(NOW)) for s in held.sessions])
    assert choose(again, bounds, now_us=NOW) == choose(held, bounds, now_us=NOW)
    assert overflowing(again, bounds) == overflowing(held, bounds)


def test_below_the_caps_and_young_nothing_goes() -> None:
    held = Holdings([holding("claude:a", last_at=NOW), holding("claude:b", last_at=NOW)], {})
    assert choose(held, RetentionLimits(1000, 2000, 10), now_us=NOW).steps == ()
    assert overflowing(held, RetentionLimits(1000, 2000, 10)).steps == ()


def test_a_shared_chunk_is_counted_with_the_last_that_has_it() -> None:
    held = Holdings(
        [holding("claude:a", shared=(1,)), holding("claude:b", analyzed_at=20, shared=(1,))], {1: SharedChunk(50, 2)}
    )
    assert [step.bytes for step in choose(held, RetentionLimits(0, 0, None), now_us=NOW).steps] == [110, 160]
