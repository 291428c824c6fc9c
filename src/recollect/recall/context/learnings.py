"""What was learned here or about the person, one line each under a heading of its kind."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from recollect.model.learnings.learnings import LearningKind
from recollect.model.own import without_own_blocks
from recollect.model.text import one_line
from recollect.model.time import day_of
from recollect.recall.context.lines import MISSED, ContextLine, ContextRequest, SourceLines
from recollect.recall.context.person_files import said_as
from recollect.recall.related_events import EarlierStatement, is_displaced, is_ruled_out
from recollect.store.context_rows import RecentLearning

TEXT_CHARS = 300
TELLING_KINDS: tuple[LearningKind, ...] = ("pattern", "correction", "preference", "fact")
"""In the order of their headings: the most useful first. Actions come after them, see `actions`."""
HEADINGS = {
    "pattern": "Patterns seen here:",
    "correction": "Corrections the person made:",
    "preference": "Preferences the person stated:",
    "fact": "Facts learned here:",
}
_OWN_WORDS = frozenset(("user", "assistant"))
_OF_THE_PERSON = frozenset(("correction", "preference"))
"""Kinds whose heading says that the person said so."""
_NAMED = r"`([^`\n]{3,60})`"
_NAMES = 4
_FAILED = " failed: "
"""In each pattern that says what made a command pass."""
_ALIKE = 2
"""Blanks in the shorter of two texts, one of which is a part of the other, for them to say the same."""
_QUOTES = str.maketrans("“”", '""')


class LearnedHere:
    """The learnings that hold in the folder, looked for once for a block. least, most: the worth that they have."""

    def __init__(self, *, share: float = 0.5, least: float = 0.35, most: float = 1.0) -> None:
        """share: of the lines that there is room for."""
        self._share = share
        self._least = least
        self._span = most - least
        self._found: tuple[list[RecentLearning], list[RecentLearning]] | None = None
        self._scores: dict[str, float] = {}

    def actions(self, asked: ContextRequest) -> list[RecentLearning]:
        """Return the pending actions."""
        return self._looked_for(asked)[1]

    def of(self, asked: ContextRequest, kind: LearningKind) -> SourceLines:
        """Return the most valuable lines of one kind; the first line tells how many were left out."""
        telling = self._looked_for(asked)[0]
        best = self._best(asked)
        chosen = sorted((x for x in best if x.kind == kind), key=lambda x: (x.first_at, x.id))
        lines = [_with_later(asked, x, line_of(x, self._worth(x))) for x in chosen]
        is_first = kind == TELLING_KINDS[0]
        missed = sum(self._worth(x) >= MISSED for x in telling) - sum(self._worth(x) >= MISSED for x in best)
        return SourceLines(lines, missed if is_first else 0)

    def told(self, asked: ContextRequest) -> frozenset[str]:
        """Return what the lines of all kinds say, each `as_words`. A sentence that gave a learning, an action and a
        decision is shown as the first of these.
        """
        return frozenset(
            as_words(learning.text) for learning in (*self._best(asked), *self.actions(asked)) if not learning.is_old
        )

    def repairs(self, asked: ContextRequest) -> list[tuple[str, int]]:
        """Return what the lines say of commands that failed and then passed, and when that was last seen."""
        return [(x.text, x.ts) for x in self._best(asked) if x.kind == "pattern" and _FAILED in x.text]

    def is_ruled_out(self, command: str, asked: ContextRequest) -> bool:
        """Return whether a person said that a command's tool isn't to be used."""
        words = command.casefold().split()
        return any(is_ruled_out(words, x.text) for x in self._looked_for(asked)[0] if not x.path and _is_said(x))

    def _worth(self, learning: RecentLearning) -> float:
        return self._least + self._span * self._scores[learning.id]

    def _best(self, asked: ContextRequest) -> list[RecentLearning]:
        telling = self._looked_for(asked)[0]
        shown = max(2, int(asked.room * self._share))
        return sorted(telling, key=lambda learning: (-self._scores[learning.id], learning.id))[:shown]

    def _looked_for(self, asked: ContextRequest) -> tuple[list[RecentLearning], list[RecentLearning]]:
        if self._found is None:
            given = asked.reader.learnings_in(asked.folder, now_us=asked.now_us)
            asked.changes_at(given.changes_at)
            fit = [
                x
                for x in given.learnings
                if may_be_given(x, asked.agent) and not (asked.said and said_as(x.text) in asked.said)
            ]
            spoken = [x for x in fit if x.kind in TELLING_KINDS and _is_said(x)]
            telling = [x for x in fit if x.kind in TELLING_KINDS and not _is_spoken_of(x, spoken)]
            self._scores = scores(telling, asked)
            self._found = telling, [x for x in fit if x.kind == "action"]
        return self._found


class LearnedKind:
    """The lines of one kind."""

    def __init__(self, here: LearnedHere, kind: LearningKind) -> None:
        self._here = here
        self._kind = kind
        self.heading = HEADINGS[kind]

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return a line for each learning of the kind that is worth most."""
        return self._here.of(asked, self._kind)


def may_be_given(learning: RecentLearning, agent: str) -> bool:
    """Return whether an agent may get a learning.

    It must be for all agents or this one; a wish must not come from a tool or a web page alone; and what is shown as
    the person's was said by the person.
    """
    if learning.agent and learning.agent != agent:
        return False
    if not learning.authors or learning.state == "confirmed":
        return True
    if learning.kind in _OF_THE_PERSON:
        return "user" in learning.authors
    return learning.kind != "action" or bool(learning.authors & _OWN_WORDS)


def _is_said(learning: RecentLearning) -> bool:
    """Return whether a person said it, to an agent or to the memory."""
    return not learning.authors or "user" in learning.authors


def _is_spoken_of(learning: RecentLearning, spoken: Iterable[RecentLearning]) -> bool:
    """Return whether what a person said stands in for a command that was only observed."""
    return (
        not _is_said(learning)
        and learning.state != "confirmed"
        and _FAILED not in learning.text
        and any(x.path in ("", learning.path) and is_displaced(learning.text, x.text) for x in spoken)
    )


def line_of(learning: RecentLearning, worth: float, *, before: str = "") -> ContextLine:
    """Return a learning's line. before: text between its day and its words."""
    text = f"{day_of(learning.ts)} {before}{_about(learning)}{_said_by(learning)}“{quotable(learning.text)}”"
    if learning.state == "confirmed" and learning.kind != "action":
        text += " (confirmed)"
    names = (*((learning.path,) if learning.path else ()), *re.findall(_NAMED, learning.text))[:_NAMES]
    uid = f"{'action' if learning.kind == 'action' else 'learning'}:{learning.id}"
    return ContextLine(text, uid, learning.ts, worth, tuple(names), learning.citation)


def _with_later(asked: ContextRequest, learning: RecentLearning, line: ContextLine) -> ContextLine:
    """Return a learning's line; of what a person said, with what was said later about it."""
    if "user" not in learning.authors:
        return line
    names = (learning.path,) if learning.path else ()
    earlier = EarlierStatement(learning.text, names, learning.ts, learning.citation)
    return msgspec.structs.replace(line, later=asked.said_later(earlier))


def quotable(text: str, limit: int = TEXT_CHARS) -> str:
    """Return a text that stays inside the quotation marks that it is put in."""
    return one_line(without_own_blocks(text), limit).translate(_QUOTES)


def as_words(text: str) -> str:
    """Return a text for comparison: texts that differ in case or a full stop are equal."""
    return said_as(text).casefold().rstrip(".!… ")


def says_again(statement: str, told: Collection[str]) -> bool:
    """Return whether a statement repeats a line: it is a learning, contains one after an opening ("No, …"), or is a
    part of one.
    """
    words = as_words(statement)
    return any(
        one == words or (min(one.count(" "), words.count(" ")) >= _ALIKE and (one in words or words in one))
        for one in told
    )


def _about(learning: RecentLearning) -> str:
    return f"{one_line(learning.path, 80)}: " if learning.path else ""


def _said_by(learning: RecentLearning) -> str:
    """Return how far a learning can be believed, in words before it."""
    if learning.state == "confirmed":
        return ""
    if learning.authors and not learning.authors & _OWN_WORDS:
        return "a web page said: " if learning.authors == {"web"} else "a tool said: "
    return "maybe: " if learning.status in ("hypothesis", "ranked") else ""


def sections(here: LearnedHere) -> Sequence[LearnedKind]:
    """Return the sources of all kinds but actions, in the order of their headings."""
    return tuple(LearnedKind(here, kind) for kind in TELLING_KINDS)


HALF_LIFE_DAYS: Mapping[str, float] = {"fact": 30, "pattern": 60, "correction": 60, "preference": 180, "action": 14}
"""After so long a learning is worth half. What a person prefers changes least, versions and the like change most."""
LEAST_RECENCY = 0.1
"""However old: what holds is never worth nothing."""
CONFIRMED = 1.5
"""A person said that it holds."""
HYPOTHESIS = 0.7
"""Only a model said so."""
USEFUL = 1.4
"""A command that works here, a correction, a ban: what an agent would otherwise get wrong."""
_BANS = r"(?:never|don['’]?t|do not|no|not|avoid|stop|nie|niemals|kein\w*|nicht|ne|jamais|nunca)\b"
SCOPES: Mapping[str, float] = {"repo": 1.0, "path": 0.8, "user": 0.9}
WORD = 0.15
MOST_WORDS = 4
"""So many words that the branch and the last sessions' titles share with it count, each by `WORD`."""
_LAST_SESSIONS = 3
_WORD = r"[^\W_]{4,}"
_DAY_US = 24 * 3600 * 1_000_000


def scores(learnings: Iterable[RecentLearning], asked: ContextRequest) -> dict[str, float]:
    """Return what each is worth by id: 0 to 1, the best of them 1."""
    found = list(learnings)
    newest = max((learning.ts for learning in found), default=0)
    words = _words_now(asked)
    raw = {learning.id: _score(learning, newest, words) for learning in found}
    best = max(raw.values(), default=0.0)
    return {id_: score / best for id_, score in raw.items()} if best > 0 else raw


def _score(learning: RecentLearning, newest: int, words: frozenset[str]) -> float:
    age_days = (newest - learning.ts) / _DAY_US
    recency = max(LEAST_RECENCY, math.pow(0.5, age_days / HALF_LIFE_DAYS[learning.kind]))
    shared = len(words & _words(f"{learning.text} {learning.path}")) if words else 0
    relevance = SCOPES[learning.scope] * (1 + WORD * min(MOST_WORDS, shared))
    sure = learning.confidence * (CONFIRMED if learning.state == "confirmed" else 1.0)
    useful = USEFUL if _is_useful(learning) else 1.0
    return relevance * recency * sure * useful * (HYPOTHESIS if learning.status in ("hypothesis", "ranked") else 1.0)


def _is_useful(learning: RecentLearning) -> bool:
    return learning.kind in ("pattern", "correction") or (
        learning.kind == "preference" and re.match(_BANS, learning.text, re.IGNORECASE) is not None
    )


def _words_now(asked: ContextRequest) -> frozenset[str]:
    """Return the words that tell what is being worked on: of the branch and the titles of the last sessions."""
    last = asked.sessions[0][-_LAST_SESSIONS:]
    return _words(" ".join(f"{session.branch} {session.title}" for session in last))


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(_WORD, text.lower()))


MARKS = {"urgent": "[URGENT] ", "high": "[HIGH] ", "": ""}
"""By priority, in order."""
_WORTH = {"urgent": 1.0, "high": 0.8, "": 0.5}
_LEAST_WORTH = 0.1
_ORDER = tuple(MARKS)
_EXPIRED = "recollect actions list --state expired"


class PendingActions:
    """Actions that are not done; below them those that have expired, since nobody knows whether they still matter."""

    heading = "Actions left pending, as suggestions to raise with the person (done: `recollect actions done ID`):"

    def __init__(self, here: LearnedHere) -> None:
        self._here = here

    def candidates(self, asked: ContextRequest) -> SourceLines:
        """Return a line for each of the most urgent actions, the oldest of a priority first."""
        given = self._here.actions(asked)
        pending = [x for x in given if not x.is_old]
        pending.sort(key=lambda x: (_ORDER.index(_priority(x.priority)), x.first_at, x.id))
        expired = sorted((x for x in given if x.is_old), key=lambda x: (-x.ts, x.id))
        shown = pending[: max(2, asked.room * 3 // 10)]
        lines = [
            _with_later(
                asked, x, line_of(x, _WORTH[_priority(x.priority)], before=f"{MARKS[_priority(x.priority)]}suggested: ")
            )
            for x in shown
        ]
        if expired:
            more = f" ({len(expired) - 1} more: `{_EXPIRED}`)" if len(expired) > 1 else ""
            line = line_of(expired[0], _LEAST_WORTH, before="expired, perhaps still to do: ")
            lines.append(msgspec.structs.replace(line, text=f"{line.text}{more}"))
        return SourceLines(lines, len(pending) - len(shown))


def _priority(told: str) -> str:
    """Return a priority that has a mark; one that a later version knows has none."""
    return told if told in MARKS else ""
