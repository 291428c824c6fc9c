"""What the assistant says at the end of a session is left to do, and what shows that something pending was done."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from recollect.insights.language.substance import makes_sense
from recollect.insights.learnings.extraction.candidates import Draft, Place, evidence_of
from recollect.insights.learnings.extraction.observed import Observed
from recollect.model.events import Event
from recollect.model.learnings.learnings import Priority
from recollect.model.own import without_own_blocks
from recollect.model.payloads import AssistantMessage, UserMessage

_MOST: Final = 6
_TAIL: Final = 6_000
"""Characters at the end of the last message that are read."""
_LEFT: Final = (
    r"(?:left to do|still to do|still left(?: to do)?|still (?:open|pending|missing|outstanding)|what'?s left"
    r"|remaining (?:work|tasks?|steps?|items?|todos?)"
    r"|not (?:yet )?(?:done|finished|implemented|addressed)(?: yet)?|not done|outstanding(?: work| items| tasks)?"
    r"|open (?:items|points|tasks|todos)|pending(?: items| work| tasks)?"
    r"|deferred|for later|follow-?ups?(?: work| items| tasks)?|todos?(?: for later| left)?|noch (?:zu tun|offen)"
    r"|offen(?:e punkte)?|was noch fehlt|verbleibende? (?:aufgaben|schritte|punkte)"
    r"|steht noch aus|ausstehend|übrig)"
)
_HEADING: Final = re.compile(
    rf"^[\s#*_>-]{{0,8}}{_LEFT}\s*(?:\([^()\n]{{0,40}}\))?\s*[*_]{{0,3}}\s*[:：]?\s*[*_]{{0,3}}\s*$", re.IGNORECASE
)
_INLINE: Final = re.compile(
    rf"(?:^[\s*_>-]{{0,6}}|^[^:：]{{0,400}}[.!] ){_LEFT}\s*[*_]{{0,3}}\s*[:：]\s*[*_]{{0,3}}\s*(?P<said>\S.{{6,260}})$",
    re.IGNORECASE,
)
_PUT_OFF: Final = re.compile(
    r"[,;] (?:(?:i|we|ich|wir|das|die)(?:['’]ve|['’]ll| have| will)? )?(?:left|leave|hab\w*|lass\w*|verschieb\w*)\b"
    r"[^,;]{0,40}$",
    re.IGNORECASE,
)
"""Says after what is left to do that it was put off, and to when: no part of what is to be done."""
_ITEM: Final = re.compile(r"^\s{0,6}(?:[-*+•]|\d{1,2}[.)])\s+(?:\[ \]\s*)?(?P<said>\S.*)$")
_DONE_ITEM: Final = re.compile(r"^\s{0,6}(?:[-*+•]|\d{1,2}[.)])\s+(?:\[[xX]\]|✅|✔|☑)")
_NOTHING: Final = re.compile(
    r"\W*(?:none|nothing|n/a|nichts|keine?|all done|no\b|-)\W*$|.{0,20}\bnothing (?:left|remaining)", re.IGNORECASE
)
_URGENT: Final = re.compile(r"\b(?:urgent|asap|critical|blocker|blocking|dringend|kritisch|sofort)\b", re.IGNORECASE)
_IMPORTANT: Final = re.compile(r"\b(?:important|high[ -]prio(?:rity)?|wichtig|crucial)\b", re.IGNORECASE)


def left_to_do(observed: Observed) -> list[Draft]:
    """Return what the last message of the assistant lists as left to do, as actions; at most six.

    Only where it is the last thing said in the session: a session that goes on takes its list up again.
    """
    last: Event | None = None
    for event in reversed(observed.events):
        payload = event.payload
        if isinstance(payload, UserMessage) and payload.origin != "injected" and not event.is_sidechain:
            return []
        if isinstance(payload, AssistantMessage) and payload.text.strip() and not event.is_sidechain:
            last = event
            break
    if last is None or observed.session.parent_session or not isinstance(last.payload, AssistantMessage):
        return []
    drafts = []
    for said in _items(without_own_blocks(last.payload.text)[-_TAIL:].splitlines())[:_MOST]:
        priority: Priority = "urgent" if _URGENT.search(said) else "high" if _IMPORTANT.search(said) else ""
        evidence = [evidence_of(last, "assistant", said)]
        features = {"left to do at the end": 0.5}
        drafts.append(Draft("action", said, Place("repo"), "assistant", evidence, features, priority))
    return drafts


def _items(lines: Sequence[str]) -> list[str]:
    found: list[str] = []
    is_listing = is_code = False
    for line in lines:
        if line.lstrip().startswith("```"):
            is_code, is_listing = not is_code, False
        elif is_code:
            continue
        elif _HEADING.match(line):
            is_listing = True
        elif inline := _INLINE.match(line):
            is_listing = False
            found.append(inline["said"])
        elif is_listing and line.strip():
            item = _ITEM.match(line)
            if item is None or _DONE_ITEM.match(line):
                is_listing = item is not None or line.startswith((" ", "\t"))
            else:
                found.append(item["said"])
    plain = (_PUT_OFF.sub("", re.sub(r"[*_`]{2,}", "", said).strip()).rstrip() for said in found)
    return [said for said in plain if len(said) > 7 and not _NOTHING.match(said) and makes_sense(said)]
