"""What was last worked on here: a line per session, the newest last."""

from __future__ import annotations

import re

from recollect.model.own import without_own_blocks
from recollect.model.payloads import AssistantMessage
from recollect.model.text import one_line
from recollect.model.time import day_of
from recollect.recall.context.sources import Asked, Candidate, Found, window
from recollect.store.recent import RecentSession
from recollect.units import plural

TITLE_CHARS = 90
LAST_WORDS_CHARS = 170
_REPLIES = 4
"""Replies looked at from the end, until one says something."""
_SENTENCE_END = r"(?<=[.!?。！？])\s+"


class WorkedOn:
    """Recent root sessions: when, agent, branch, what was asked, the assistant's last words."""

    name = "sessions"
    heading = "Worked on here before, oldest first:"

    def candidates(self, asked: Asked) -> Found:
        """Return a line for each of the newest sessions in the folder, but the present one."""
        shown = max(1, asked.room * 3 // 10)
        newest, total = asked.sessions
        chosen = window(newest, total, shown)
        made = [_line(asked, session, place / len(chosen)) for place, session in enumerate(chosen, 1) if session.title]
        lines = [line for line in made if line is not None]
        return Found(lines)  # that there were sessions before goes without saying


def _line(asked: Asked, session: RecentSession, newness: float) -> Candidate | None:
    """Return a session's line; None for one in which the agent never answered."""
    replies = asked.reader.events(session.session_uid, ("assistant_message",), limit=_REPLIES)
    said = [(e, t) for e in replies if isinstance(e.payload, AssistantMessage) and (t := _said(e.payload.text))]
    if not said:
        return None
    last, words = said[-1]
    edits = session.kind_counts.get("file_edit", 0)
    facts = [day_of(session.started_at) if session.started_at is not None else "undated", session.agent]
    if session.branch:
        facts.append(f"on {session.branch}")
    counts = plural(session.turn_count, "turn")
    if edits:
        counts += f", {plural(edits, 'edit')}"
    title = one_line(without_own_blocks(session.title), TITLE_CHARS)
    text = f"{' '.join(facts)}: “{title}” ({counts}); it ended with: “{words}”"
    return Candidate(text, f"{session.session_uid}#{last.seq}", session.started_at, 0.2 + 0.65 * newness)


def _said(text: str) -> str:
    """Return the end of what was said, in whole sentences where they fit."""
    line = " ".join(without_own_blocks(text).split())
    if len(line) <= LAST_WORDS_CHARS:
        return line
    kept = ""
    for sentence in reversed(re.split(_SENTENCE_END, line[-4 * LAST_WORDS_CHARS :])[1:]):
        longer = f"{sentence} {kept}".rstrip()
        if len(longer) > LAST_WORDS_CHARS:
            break
        kept = longer
    return kept if len(kept) >= LAST_WORDS_CHARS // 4 else "…" + line[-LAST_WORDS_CHARS + 1 :].lstrip()
