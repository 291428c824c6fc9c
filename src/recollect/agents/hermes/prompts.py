"""Who wrote a text in the user's role, and what of it is a summary of a compaction.

Evidence: format notes: Hermes Agent, "semantics"; the agent's own markers.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

_COMPACTION = re.compile(r"\s*(?:\[CONTEXT COMPACTION\s*[-\u2010-\u2015]\s*REFERENCE ONLY\]|\[CONTEXT SUMMARY\]:)")
"""The first line of a summary: the dash was written in several ways, and older versions had another word."""
_SUMMARY_END = re.compile(r"--- END OF CONTEXT SUMMARY [^\n]*---\s*")
_PRIOR_HEADER = re.compile(r"\s*\[PRIOR CONTEXT [^\n\]]*\]\s*")
_PRIOR_END = re.compile(r"\s*\[END OF PRIOR CONTEXT [^\n\]]*\]\s*")

_SKILL = re.compile(r'\[IMPORTANT: The user has invoked the "([^"\n]{1,200})"')
_SKILL_WORDS = "The user has provided the following instruction alongside the skill invocation: "
_BUNDLE_WORDS = "\nUser instruction: "
_SKILL_ENDS = ("\n\n[Runtime note:", "\n\n[Loaded as part of the ")

_HARNESS = (
    "Review the conversation above and ",
    "Continue from the compressed conversation context above.",
    "You just executed tool calls but returned an empty response.",
    "[ASYNC DELEGATION COMPLETE ",
    "[ASYNC DELEGATION BATCH COMPLETE ",
    "[IMPORTANT: Background process ",
    "[IMPORTANT: Background task ",
    "[IMPORTANT: The user has invoked the ",
    "[System note:",
    "[System: ",
    "[Your active task list was preserved across context compression]",
)
"""Openings of texts that the harness puts into the user's role."""

INTERRUPTED = "Operation interrupted: "
"""Opening of the text that stands for a reply that the user stopped."""


class Said(NamedTuple):
    """A text in the user's role, with who wrote it; `scaffold` is what the harness put around it."""

    text: str
    origin: Literal["human", "injected", "command"]
    scaffold: str = ""


class Summary(NamedTuple):
    """A message of a compaction: the summary, and what was said in the same message beside it."""

    text: str
    rest: str


def who_wrote(text: str) -> Said:
    """Tell a person's words from the harness's. An invoked skill becomes `/name instruction`."""
    head = text.lstrip()
    skill = _SKILL.match(head)
    if skill is not None:
        return Said(
            f"{skill[1] if skill[1].startswith('/') else '/' + skill[1]} {_typed(head)}".rstrip(), "command", text
        )
    return Said(text, "injected" if head.startswith(_HARNESS) else "human")


def _typed(text: str) -> str:
    """Return the instruction that was typed behind the name of a skill."""
    for words in (_SKILL_WORDS, _BUNDLE_WORDS):
        _, found, rest = text.partition(words)
        if found:
            ends = [i for i in map(rest.find, _SKILL_ENDS) if i >= 0]
            return rest[: min(ends)].strip() if ends else rest.strip()
    return ""


def summary_in(text: str, *, is_marked: bool) -> Summary | None:
    """Return the summary in a message, or None. is_marked: the row says by itself that it is one."""
    end = _PRIOR_END.search(text)
    if end is not None and _COMPACTION.match(text, end.end()):
        header = _PRIOR_HEADER.match(text)
        return Summary(text[end.end() :], text[header.end() if header is not None else 0 : end.start()].strip())
    if not is_marked and _COMPACTION.match(text) is None:
        return None
    closing = _SUMMARY_END.search(text)
    if closing is None:
        return Summary(text, "")
    return Summary(text[: closing.start()].rstrip(), text[closing.end() :].strip())
