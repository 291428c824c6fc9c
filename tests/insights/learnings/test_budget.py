"""What asking a model may cost holds for many askers at once, over days and sessions, and survives whoever asks."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.config import LearningConfig
from recollect.endpoints.chat import Pricing
from recollect.errors import StoreError
from recollect.insights.learnings.budget import Budget, Denial, Reservation, tokens_at_most
from recollect.model.learnings.spending import DAY_US, Amounts, Limits, Spender, day_of_us
from recollect.store.connection import open_database
from recollect.store.jobs import SpendingLedger, forget_spending

DAY = 20_000
NOW_US = DAY * DAY_US + 3_600_000_000
ONE = Amounts(1, 1_000, 100, 600)
WIDE = Limits(10**9, 10**9, 10**9)


def budget(home: Path, now: list[int] | None = None, **config: float) -> Budget:
    clock = now or [NOW_US]
    pricing = Pricing("m", "openai", "http://127.0.0.1:1", 1.0, 1.0)
    config_of_test = LearningConfig(provider="openai", **config)  # type: ignore[arg-type]
    return Budget(config_of_test, SpendingLedger(home), pricing, now_us=lambda: clock[0])


def test_many_askers_together_stay_within_the_limit(tmp_path: Path) -> None:
    limits = Limits(session_micro_dollars=6_000, day_micro_dollars=10**6, day_tokens=10**6)
    open_database(tmp_path, "write").close()

    def reserve(number: int) -> str:
        return SpendingLedger(tmp_path).reserve(Spender(DAY, "claude:a", f"m{number % 3}"), ONE, limits)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(reserve, range(40)))
    assert found.count("") == 10
    assert found.count("session") == 30
    assert SpendingLedger(tmp_path).spent_for("claude:a") == Amounts(10, 10_000, 1_000, 6_000)


def test_each_limit_counts_for_itself(tmp_path: Path) -> None:
    ledger = SpendingLedger(tmp_path)
    limits = Limits(session_micro_dollars=1_000, day_micro_dollars=1_500, day_tokens=3_000)
    assert ledger.reserve(Spender(DAY, "claude:a", "m"), ONE, limits) == ""
    assert ledger.reserve(Spender(DAY, "claude:a", "m"), ONE, limits) == "session"
    assert ledger.reserve(Spender(DAY + 1, "claude:a", "m"), ONE, limits) == "session", "over all days"
    assert ledger.reserve(Spender(DAY, "claude:b", "m"), ONE, limits) == ""
    assert ledger.reserve(Spender(DAY, "claude:c", "m"), ONE, limits) == "day"
    assert ledger.reserve(Spender(DAY, "claude:c", "m"), ONE._replace(micro_dollars=0), limits) == "day_tokens"
    assert ledger.reserve(Spender(DAY + 1, "claude:c", "m"), ONE, limits) == ""
    assert ledger.spent_on(DAY) == Amounts(2, 2_000, 200, 1_200)


def test_what_was_booked_is_corrected_on_the_day_it_was_booked(tmp_path: Path) -> None:
    now = [NOW_US]
    asking = budget(tmp_path, now)
    held = asking.reserve("claude:a", Amounts(1, 1_000, 500, 1_500))
    assert isinstance(held, Reservation)
    now[0] += DAY_US
    asking.settle(held, Amounts(1, 700, 20, 720))
    ledger = SpendingLedger(tmp_path)
    assert ledger.spent_on(DAY) == Amounts(1, 700, 20, 720)
    assert ledger.spent_on(DAY + 1) == Amounts()


def test_who_dies_while_asking_is_charged_with_the_most(tmp_path: Path) -> None:
    most = Amounts(1, 1_000, 500, 1_500)
    assert isinstance(budget(tmp_path).reserve("claude:a", most), Reservation)
    assert SpendingLedger(tmp_path).spent_on(DAY) == most


@pytest.fixture(scope="module")
def one_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Iterator[int]]]:
    """A home, and days on which nothing was spent there."""
    return tmp_path_factory.mktemp("home"), count(DAY)


@settings(max_examples=12)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4_000), st.integers(0, 4_000)), max_size=8))
def test_no_order_of_questions_breaks_a_limit(
    one_home: tuple[Path, Iterator[int]], questions: list[tuple[str, int, int]]
) -> None:
    home, days = one_home
    day = next(days)
    ledger = SpendingLedger(home)
    asking = budget(home, [day * DAY_US], session_budget_usd=0.005, day_budget_usd=0.009, day_budget_tokens=12_000)
    for name, most, spent in questions:
        session = f"{name}:{day}"
        held = asking.reserve(session, Amounts(1, most, 0, most))
        if isinstance(held, Reservation):
            asking.settle(held, Amounts(1, min(most, spent), 0, min(most, spent)))
        assert ledger.spent_on(day).micro_dollars <= 9_000
        assert ledger.spent_for(session).micro_dollars <= 5_000


def test_a_denial_says_which_limit_and_until_when(tmp_path: Path) -> None:
    asking = budget(tmp_path, session_budget_usd=1, day_budget_usd=0.001)
    assert isinstance(asking.reserve("claude:a", Amounts(1, 900, 0, 900)), Reservation)
    denied = asking.reserve("claude:b", Amounts(1, 900, 0, 900))
    assert denied == Denial("day", "the day's budget is spent ($0.001)", (DAY + 1) * DAY_US)


def test_a_forgotten_session_leaves_the_days_sums(tmp_path: Path) -> None:
    ledger = SpendingLedger(tmp_path)
    for session in ("claude:a", "claude:b"):
        for model in ("m", "n"):
            ledger.reserve(Spender(DAY, session, model), ONE, WIDE)
    before = ledger.spent_on(DAY)
    with open_database(tmp_path, "write") as db:
        forget_spending(db, ["claude:a"])
        forget_spending(db, ["claude:b", "claude:unknown"])
        assert db.execute("SELECT DISTINCT session_uid FROM spending").fetchall() == [("",)]
    assert ledger.spent_on(DAY) == before
    assert ledger.spent_for("claude:a") == Amounts()


def test_a_ledger_that_cannot_be_written_asks_nothing(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError):
        budget(tmp_path).reserve("claude:a", ONE)


def test_days_are_utc_days() -> None:
    assert (day_of_us(DAY * DAY_US), day_of_us(DAY * DAY_US - 1)) == (DAY, DAY - 1)


@pytest.mark.parametrize(("text", "most"), [("", 0), ("a", 1), ("abcd", 2), ("äöü", 3), ("你好", 3), ("😀", 2)])
def test_tokens_are_counted_generously(text: str, most: int) -> None:
    assert tokens_at_most(text) == most
