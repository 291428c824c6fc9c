"""Which sessions go, in which order, and why: the three passes of retention (design, section 7). Pure.

The raw bytes of a session go only when its digest takes account of its last record. The one exception is `overflowing`,
the last resort, of which every step is data loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from recollect.store.erasure.holdings import Holding, Holdings

Reason = Literal["age", "budget", "overflow", "data_loss"]
"""age: older than may be; budget: above the soft cap; overflow: above the hard cap, though it was to be spared;
data_loss: above the hard cap, and not analysed."""
KeepGone = Literal["age", "always", "never"]


class Limits(NamedTuple):
    """What is allowed, see `config.retention`. max_age_us None: any age."""

    soft_cap_bytes: int
    hard_cap_bytes: int
    max_age_us: int | None
    keep_gone: KeepGone = "age"


class Step(NamedTuple):
    """One thing to do. part: the whole session, or only its large results and images. bytes: about what that frees."""

    session_uid: str
    reason: Reason
    part: Literal["all", "large"]
    bytes: int


class Choice(NamedTuple):
    """What to do in order; raw_bytes: before it; left_bytes: about what is left after it."""

    steps: tuple[Step, ...]
    raw_bytes: int
    left_bytes: int


def choose(held: Holdings, limits: Limits, *, now_us: int) -> Choice:
    """Return the steps of the passes for age and for the soft cap: only analysed sessions, the oldest first.

    The second stops as soon as what is left fits. It takes only large results and images where these are enough.
    """
    left = _Left(held)
    analysed = sorted((s for s in held.sessions if s.is_covered and not s.is_pinned), key=age_order)
    steps: list[Step] = []
    for session in analysed:
        if _is_too_old(session, limits, now_us):
            steps += left.take(session, "age")
    spares_gone = limits.keep_gone == "always"
    rest = [s for s in analysed if s.session_uid not in left.taken and not (spares_gone and s.is_gone)]
    over = left.bytes - limits.soft_cap_bytes
    take = left.take_large if 0 < over <= sum(s.large_bytes for s in rest) else left.take
    for session in rest:
        if left.bytes <= limits.soft_cap_bytes:
            break
        steps += take(session, "budget")
    return Choice(tuple(steps), held.raw_bytes, left.bytes)


def overflowing(held: Holdings, limits: Limits) -> Choice:
    """Return the last resort above the hard cap, after everything that can be analysed was: first analysed sessions
    that were spared because their file is gone, then those that are not analysed; of both the oldest first.

    What a person has pinned never goes.
    """
    left = _Left(held)
    loose = [s for s in held.sessions if not s.is_pinned]
    spared: Iterable[tuple[Holding, Reason]] = ((s, "overflow") for s in sorted(filter(_covered, loose), key=age_order))
    lost: Iterable[tuple[Holding, Reason]] = (
        (s, "data_loss") for s in sorted((s for s in loose if not s.is_covered), key=age_order)
    )
    steps: list[Step] = []
    for session, reason in (*spared, *lost):
        if left.bytes <= limits.hard_cap_bytes:
            break
        steps += left.take(session, reason)
    return Choice(tuple(steps), held.raw_bytes, left.bytes)


def _is_too_old(session: Holding, limits: Limits, now_us: int) -> bool:
    if limits.max_age_us is None or (session.is_gone and limits.keep_gone != "never"):
        return False
    return max(session.last_at, session.taken_at) <= now_us - limits.max_age_us


def _covered(session: Holding) -> bool:
    return session.is_covered


def age_order(session: Holding) -> tuple[int, str]:
    """The order in which sessions go: first the one that was active longest ago, whenever it came or was analysed."""
    return session.last_at, session.session_uid


class _Left:
    """What is left while sessions go one by one. A shared chunk goes with the last that has it."""

    def __init__(self, held: Holdings) -> None:
        self.bytes = held.raw_bytes
        self.taken: set[str] = set()
        self._shared = dict(held.shared)

    def take(self, session: Holding, reason: Reason) -> Sequence[Step]:
        """Let a whole session go; nothing where it holds nothing."""
        freed = session.archive_bytes + session.text_bytes
        if not freed and not session.shared:
            return ()
        self.taken.add(session.session_uid)
        for number in session.shared:
            chunk = self._shared[number]._replace(holders=self._shared[number].holders - 1)
            self._shared[number] = chunk
            freed += 0 if chunk.holders else chunk.stored_bytes
        self.bytes -= freed
        return (Step(session.session_uid, reason, "all", freed),)

    def take_large(self, session: Holding, reason: Reason) -> Sequence[Step]:
        """Let a session's large results and images go; nothing where it has none."""
        if not session.large_bytes:
            return ()
        self.bytes -= session.large_bytes
        return (Step(session.session_uid, reason, "large", session.large_bytes),)
