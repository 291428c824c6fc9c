"""Which sessions go first depends on when they were active, never on when they were taken in."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.erasure.retention.conftest import Work
from tests.examples import tried

COUNT = 4


def going(order: Sequence[int], *, at_once: int) -> list[int]:
    """Return the numbers of sessions, the oldest has 0, in the order in which they go.

    They are taken in in another one: as many as `at_once` together, then the rest one by one.
    """
    with tempfile.TemporaryDirectory() as folder:
        work = Work(Path(folder))
        sessions = work.write(COUNT)
        with work.open(raw_soft_cap_bytes=0, raw_max_age_days=0) as memory:
            for numbers in ([*order[:at_once]], *([number] for number in order[at_once:])):
                if numbers:
                    memory.take_in([sessions[number].path for number in numbers])
                    memory.distilling.run()
            uids = [session.uid for session in sessions]
            return [uids.index(one.session_uid) for one in memory.maintenance.retention.preview().sessions]


@given(order=st.permutations(range(COUNT)), at_once=st.integers(0, COUNT))
@settings(max_examples=tried(6))
def test_the_oldest_go_first_in_whatever_order_they_came(order: list[int], at_once: int) -> None:
    assert going(order, at_once=at_once) == [*range(COUNT)]
