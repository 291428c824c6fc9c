"""Checks the budget for asking a model before every question.

A question is booked with the most that it can cost before it is sent, and corrected by what the server says. So a limit
holds whatever happens in between, and a process that dies there is charged with the most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, assert_never

from recollect.config import LearningConfig
from recollect.endpoints.chat import Pricing
from recollect.model.learnings.spending import DAY_US, Amounts, Exceeded, Limits, Spender, day_of_us
from recollect.store.jobs import SpendingLedger

_BYTES_PER_TOKEN = 2
"""At least so many bytes of UTF-8 make an LLM token, over a whole question. Providers speak of about 4 in English, and
of 30 % more tokens with their newest tokenizers; what hardly compresses (hash values) comes closer to 2."""


class Denial(NamedTuple):
    """Why a question is not asked. until_us: when it may be asked again, UTC microseconds; None: never, as long as the
    configuration is what it is."""

    exceeded: Exceeded
    reason: str
    until_us: int | None


class Reservation(NamedTuple):
    """What is booked for a question that is being asked."""

    spender: Spender
    most: Amounts


class Budget:
    """What one configuration allows. Safe from many threads as far as its ledger is."""

    def __init__(
        self, config: LearningConfig, ledger: SpendingLedger, pricing: Pricing, *, now_us: Callable[[], int]
    ) -> None:
        """now_us: the clock, UTC microseconds."""
        self._config = config
        self._ledger = ledger
        self._now_us = now_us
        self.pricing = pricing
        self.limits = Limits(
            session_micro_dollars=_micro(config.session_budget_usd),
            day_micro_dollars=_micro(config.day_budget_usd),
            day_tokens=config.day_budget_tokens,
        )

    def most(self, question: str, *, max_output_tokens: int) -> Amounts:
        """Return the most that a question can cost now: its text in tokens at most, and the longest answer."""
        sent = tokens_at_most(question)
        return Amounts(1, sent, max_output_tokens, self.price(sent, max_output_tokens))

    def price(self, input_tokens: int, output_tokens: int) -> int:
        """Return the price of a call now, in millionths of a US dollar."""
        return self.pricing.micro_dollars(input_tokens, output_tokens, at_us=self._now_us())

    def reserve(self, session_uid: str, most: Amounts) -> Reservation | Denial:
        """Book a question, or say why it is not to be asked. Raises StoreError."""
        now = self._now_us()
        spender = Spender(day_of_us(now), session_uid, self.pricing.model)
        exceeded = self._ledger.reserve(spender, most, self.limits)
        return self._denial(exceeded, most, now) if exceeded else Reservation(spender, most)

    def settle(self, held: Reservation, spent: Amounts) -> None:
        """Put what a question did cost in place of the most that it could. Raises StoreError."""
        difference = spent.minus(held.most)
        if any(difference):
            self._ledger.correct(held.spender, difference)

    def _denial(self, exceeded: Exceeded, most: Amounts, now_us: int) -> Denial:
        """A limit that the question breaks by itself is not waited for."""
        if exceeded == "session":
            return Denial(exceeded, f"the session's budget is spent ({_usd(self.limits.session_micro_dollars)})", None)
        is_alone = self.limits.exceeded_by(most, session=Amounts(), day=Amounts()) == exceeded
        until = None if is_alone else (day_of_us(now_us) + 1) * DAY_US
        match exceeded:
            case "day":
                return Denial(exceeded, f"the day's budget is spent ({_usd(self.limits.day_micro_dollars)})", until)
            case "day_tokens":
                return Denial(exceeded, f"the day's LLM tokens are spent ({self.limits.day_tokens:,})", until)
            case "":
                raise ValueError("no limit is exceeded")
            case _:
                assert_never(exceeded)


def tokens_at_most(text: str) -> int:
    """Return how many LLM tokens a text is at most, whoever counts them."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN)


def _micro(usd: float) -> int:
    return round(usd * 1_000_000)


def _usd(micro_dollars: int) -> str:
    return f"${micro_dollars / 1_000_000:.4f}".rstrip("0").rstrip(".")
