"""The cost of asking models, and its limits."""

from __future__ import annotations

from typing import Literal, NamedTuple

DAY_US = 86_400_000_000

Exceeded = Literal["", "session", "day", "day_tokens"]
"""Which limit another amount would break, "" for none: `session_budget_usd`, `day_budget_usd`, `day_budget_tokens`."""


class Amounts(NamedTuple):
    """Amounts spent, or allowed. micro_dollars: millionths of a US dollar."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    micro_dollars: int = 0

    @property
    def tokens(self) -> int:
        """LLM tokens in both directions."""
        return self.input_tokens + self.output_tokens

    def plus(self, other: Amounts) -> Amounts:
        """Return the sum."""
        return Amounts(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: Amounts) -> Amounts:
        """Return the difference; may be negative."""
        return Amounts(*(a - b for a, b in zip(self, other, strict=True)))


class Limits(NamedTuple):
    """Spending limits: per session over all days, and per day (UTC) over all sessions."""

    session_micro_dollars: int
    day_micro_dollars: int
    day_tokens: int

    def exceeded_by(self, more: Amounts, *, session: Amounts, day: Amounts) -> Exceeded:
        """Return which limit `more` would exceed."""
        if session.micro_dollars + more.micro_dollars > self.session_micro_dollars:
            return "session"
        if day.micro_dollars + more.micro_dollars > self.day_micro_dollars:
            return "day"
        return "day_tokens" if day.tokens + more.tokens > self.day_tokens else ""


class Spender(NamedTuple):
    """What the money was spent on. day: since 1970-01-01, UTC. model: as requested."""

    day: int
    session_uid: str
    model: str


def day_of_us(at_us: int) -> int:
    """Return the day of a time (UTC microseconds), counted from 1970-01-01."""
    return at_us // DAY_US
