"""The form of a rule over one sentence, and of a language: data that `spoken` reads by."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Literal

import msgspec

Meaning = Literal["explicit", "rule", "correction", "action", "place"]
"""explicit: asked to be remembered; rule: holds from now on; correction: of what was done before; action: to be done
later; place: where a service of this machine is."""


class SpokenRule(msgspec.Struct, frozen=True, dict=True):
    """One way of saying it, over a sentence in lower case whose lead-ins are taken off. Tried from its start.

    pattern: its group `said` is what is kept, else all that is left of the sentence. Every repetition is bounded, and
    none stands in another one over the same characters. cues: pieces of which one must occur, else it is not tried.
    weight: its share of the confidence. with_next: the next sentence tells what is right, or belongs to it.
    """

    id: str
    meaning: Meaning
    weight: float
    cues: tuple[str, ...]
    pattern: str
    with_next: bool = False
    with_before: bool = False
    """What is meant stands in the sentence before ("remember that.")."""
    is_alone: bool = False
    """Only where it is the whole message: then it answers what was done; in a longer one it bounds the task."""

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """The pattern, compiled when it is first tried."""
        return re.compile(self.pattern)


class Language(msgspec.Struct, frozen=True, dict=True):
    """Rules of one language in the order in which they are tried, and the expressions that read around them.

    lead_ins: what stands before what is meant ("ok, please"). questions: how a question without its mark begins.
    doubtful: words of what is only thought of. reported: words of somebody else. refusal: a sentence that only says no,
    after which the next one may say what is right. orders: how words on the way of working begin. here: words that
    confine it to the repository. urgent, important: of actions.
    """

    code: str
    rules: tuple[SpokenRule, ...]
    lead_ins: str
    questions: str
    doubtful: str
    reported: str
    refusal: str
    orders: str
    here: str
    urgent: str
    important: str

    @cached_property
    def cues(self) -> tuple[str, ...]:
        """All cues of the rules, each once."""
        return tuple(dict.fromkeys(cue for rule in self.rules for cue in rule.cues))
