"""How sure a decision is: a sum of integer hundredths, each with its name (docs/distill.md, "Confidence")."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

HUNDREDTHS: Final[Mapping[str, int]] = {
    "strong_rule": 60,
    "soft_rule": 40,
    "own_rule": 50,
    "answer_to_question": 55,
    "order_to_do_it": 55,
    "option_by_label": 70,
    "contrast": 15,
    "named_option": 10,
    "reason": 10,
    "human": 10,
    "several_rules": 5,
}
"""What each feature adds. The first six say where the decision comes from; a decision has exactly one of them."""

LEAST: Final = 50
"""Below this no decision is made."""
MOST: Final = 99


def confidence_of(features: Collection[str]) -> tuple[float, dict[str, float]]:
    """Return the confidence (0 to 1) and what each feature contributed, in the order of `HUNDREDTHS`."""
    added = {name: value for name, value in HUNDREDTHS.items() if name in features}
    return min(MOST, sum(added.values())) / 100, {name: value / 100 for name, value in added.items()}
