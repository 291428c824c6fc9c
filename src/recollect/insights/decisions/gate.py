"""Tests which rules of the language packs and the configuration can match."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from recollect.config import GateRuleConfig
from recollect.errors import ConfigError
from recollect.insights.language.answers import answers
from recollect.insights.language.pack import CODES, pack
from recollect.insights.language.prose_mask import CAP, lower, project
from recollect.insights.language.reader import READINGS, readings
from recollect.insights.language.sentences import sentences
from recollect.late import late_pattern
from recollect.model.insights.nodes import Marker, MarkerCategory, Speaker, Strength

_NESTED: Final = late_pattern(r"\([^()]*(?<!\\)[*+][^()]*\)[*+{]")
_TEXT: Final = 160
"""Characters of a marker's text, at most; its range is whole."""


class _Own(NamedTuple):
    """A rule of the configuration, ready to be tried."""

    rule: GateRuleConfig
    expression: re.Pattern[str]


class RuleGate:
    """Finds markers with the rules that ship, changed by those of the configuration. Immutable, safe from threads."""

    def __init__(self, rules: Sequence[GateRuleConfig] = ()) -> None:
        """Check the rules. Raises ConfigError, with the rule's id, for one that cannot be used."""
        shipped = {f"{code}.{rule.id}" for code in CODES if (p := pack(code)) for rule in p.rules} if rules else set()
        self._out = frozenset(rule.id for rule in rules)
        self._own = tuple(own for rule in rules if (own := _prepared(rule, shipped)) is not None)

    def markers(self, text: str, speaker: Speaker) -> tuple[Marker, ...]:
        """Return what fires, in order of place, with ranges in the characters of the message."""
        found = [
            _marker(text, r.rule_id, r.rule.category, r.rule.strength, (r.start, r.end), r.language)
            for r in readings(text, speaker)
            if r.rule_id not in self._out
        ]
        if speaker == "human":
            found += [
                _marker(text, a.rule_id, "confirmation", "soft", (a.start, a.end), a.language)
                for a in answers(text)
                if a.rule_id not in self._out
            ]
        if self._own:
            found += self._by_own_rules(text, speaker)
        return tuple(sorted(found, key=lambda m: (m.start, m.end, m.rule)))

    def _by_own_rules(self, text: str, speaker: Speaker) -> Iterator[Marker]:
        low = lower(project(text[:CAP], of_human=speaker == "human"))
        left = READINGS
        for sentence in sentences(low):
            for own in self._own:
                match = own.expression.search(low, sentence.start, sentence.end)
                if match is not None and match.end() > match.start():
                    left -= 1
                    yield _marker(text, own.rule.id, own.rule.category, own.rule.strength, match.span(), "")
            if left <= 0:
                return


def _prepared(rule: GateRuleConfig, shipped: set[str]) -> _Own | None:
    """Return a rule ready to be tried, None for one that only takes another out. Raises ConfigError."""
    key = f"gate.rules.{rule.id}"
    if not rule.id.strip():
        raise ConfigError("a rule of [[gate.rules]] has no id", key="gate.rules")
    if not rule.pattern:
        if rule.id not in shipped:
            raise ConfigError(
                f"gate.rules: {rule.id!r} has no pattern, and no shipped rule is called so",
                key=key,
                hint="an empty pattern takes a shipped rule out; `recollect parse --nodes --explain` names those",
            )
        return None
    if _NESTED.search(rule.pattern):
        raise ConfigError(
            f"gate.rules: the pattern of {rule.id!r} repeats a group that itself repeats something",
            key=key,
            hint="such an expression can take forever on some texts; write it with one repetition",
        )
    try:
        return _Own(rule, re.compile(rule.pattern, re.IGNORECASE))
    except re.error as error:
        raise ConfigError(
            f"gate.rules: the pattern of {rule.id!r} is not a regular expression: {error}", key=key
        ) from error


def _marker(
    text: str, rule: str, category: MarkerCategory, strength: Strength, span: tuple[int, int], language: str
) -> Marker:
    start, end = span
    return Marker(rule, category, strength, text[start:end][:_TEXT], start, end, language)
