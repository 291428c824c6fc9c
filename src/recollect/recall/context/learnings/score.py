"""What a learning is worth to a session that starts: relevance × recency × confidence × use, of what is stored alone.

Recency is counted from the newest learning, not from now: the order of a store's learnings then changes only when
something is learned, and a block made ready yesterday is the block of today.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from recollect.recall.context.sources import Asked
from recollect.store.recent import RecentLearning

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


def scores(learnings: Iterable[RecentLearning], asked: Asked) -> dict[str, float]:
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


def _words_now(asked: Asked) -> frozenset[str]:
    """Return the words that tell what is being worked on: of the branch and the titles of the last sessions."""
    last = asked.sessions[0][-_LAST_SESSIONS:]
    return _words(" ".join(f"{session.branch} {session.title}" for session in last))


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(_WORD, text.lower()))
