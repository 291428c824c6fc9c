"""Decides which learnings hold, from people's verdicts and later events. Pure.

A person's word outranks all else, and stands whatever is derived again. Nothing is deleted here: what holds no more is
retired, superseded, done or expired, and stays with its evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Sequence
from typing import NamedTuple

import msgspec

from recollect.insights.learnings.action_words import action_key
from recollect.insights.learnings.corroboration import CONFIRMED, EACH_TIME, MOST_SEEN_AGAIN, SEEN_AGAIN, combined
from recollect.insights.learnings.identity import MOST_CONFIDENCE, confidence_of, normalised
from recollect.late import late_pattern
from recollect.model.learnings.learnings import Learning, LearningState, Priority
from recollect.store.learnings import BY_CLOSING, Known, Sighting, Verdict, VerdictName

PERSON = "person@1"
"""`Learning.extractor` of what somebody wrote down."""
_OF_VERDICT: dict[VerdictName, LearningState] = {
    "said": "confirmed", "confirm": "confirmed", "correct": "superseded", "retire": "retired", "done": "done",
    "undo": "retired",
}  # fmt: skip
_URGENCY: dict[Priority, int] = {"urgent": 0, "high": 1, "": 2}
_NUMBER = late_pattern(r"(?<![\w.])v?\d+(?:\.\d+)*(?![\w])")
_NOT_THAT = late_pattern(
    r"(?:,\s*not|\binstead of|\brather than|\bprefer\b[^.,;]{1,40}?\bover|\bnot\b(?=.+\bbut\b)|\bstatt|\banstelle von"
    r"|,\s*nicht)\s+"
    r"[`'\"“„]?(?P<wrong>[\w@./+-]{2,40})",
    re.IGNORECASE,
)
_USE_THAT = late_pattern(
    r"\b(?:use|using|prefer|take|pick|choose|(?:stick|go) with|switch to|verwende|benutze|nutze|nimm|bevorzuge)\s+"
    r"(?:only\s+|nur\s+)?[`'\"“„]?(?P<right>[\w@./+-]*[\w@/+-])[`'\"”“]?"
    r"(?=\s*(?:$|[.,;!?)]|(?:to|for|in|as|when|here|everywhere|now|instead|rather|over|für|zum|zur|im|als|statt|hier)\b))",
    re.IGNORECASE,
)
"""What is to be used, where that is one word and no further noun follows: not `pnpm` of `use pnpm scripts`."""
_REFUSED = late_pattern(
    r"\b(?:never|not|\w+n['’]t|dont|avoid|stop|without|nie|nicht|kein\w*)\b[^.,;]{0,20}$", re.IGNORECASE
)
_WORD = late_pattern(r"[\w@/+-]+(?:\.[\w@/+-]+)*")
_ASKING = frozenset(("preference", "correction"))
_FILLERS = frozenset(
    "a an the to for in on of with and or but is are be it this that we you i do use uses using please always never "
    "no not instead rather than over from now der die das ein eine zu mit und für im in ist wir bitte immer nie nicht "
    "statt nimm verwende benutze nutze".split()
)


class Rules(NamedTuple):
    """What of the configuration decides. now_us: for what is over."""

    now_us: int
    action_days: int
    most_actions: int


def settled(known: Known, rules: Rules) -> Learning | None:
    """Return a learning with the state that its own sightings and verdicts give it; None without any.

    `related` decides how others affect it (supersede it, crowd it out); its earlier result stays until then.
    """
    learning = _said(known, rules.action_days)
    kept = known.kept
    by_person = _by_person(known)
    if learning is None:  # its evidence was revoked: what it said stays, as history
        return kept and msgspec.structs.replace(kept, state=by_person or "retired", evidence=())
    state: LearningState = "active"
    if _is_quarantined(known.sightings):
        state = "quarantined"
    elif not _standing(known):
        state = "undone"
    superseded_by, done_at = "", None
    if kept is not None and kept.state == "superseded" and by_person is None and state == "active":
        state, superseded_by = kept.state, kept.superseded_by
    closed_at = _closed_at(known.sightings, learning)
    if by_person is not None:
        state = by_person
        newest = _newest(known.verdicts)
        superseded_by = newest.replaced_by if newest is not None and state == "superseded" else ""
        done_at = newest.at if newest is not None and state == "done" else None
    elif known.is_undone:
        state = "retired"
    elif learning.kind == "action" and state == "active" and closed_at is not None:
        state, done_at = "done", closed_at
    elif _is_over(learning, rules.now_us) and state == "active":
        state = "expired"
    batch = kept.batch if kept else ""
    return msgspec.structs.replace(learning, state=state, superseded_by=superseded_by, done_at=done_at, batch=batch)


def related(
    learnings: Iterable[Learning], rules: Rules, *, is_free: Callable[[Learning], bool],
    overruled: Container[str] = (),
) -> list[Learning]:  # fmt: skip
    """Return those of one repository's learnings that are other than before, seen together.

    Of facts and patterns that say the same but for numbers the newest holds (versions, ports). A correction "X, not Y"
    supersedes an older learning that says Y of the same; one that says nothing else, any that says to use Y. Of actions
    that ask for the same in other words the first holds, with what is known of all. Of pending actions the most urgent,
    newest `most_actions` stay. overruled: ids of what a person decided otherwise later.
    is_free: whether no person said of a learning what is to become of it.
    """
    before = sorted(learnings, key=lambda one: one.id)
    pending = {one.id for one in before if is_free(one) and _is_pending(one, rules.now_us)}
    standing = [
        msgspec.structs.replace(one, state="active", superseded_by="") if one.id in pending else one for one in before
    ]
    same = _same_actions(standing, pending)
    standing = [_joined(one, [other for other in standing if same.get(other.id) == one.id]) for one in standing]
    newer = _superseded(standing) | same
    crowded = _crowded_out(standing, newer, rules.most_actions)

    def settled_beside(one: Learning) -> Learning:
        if one.id not in pending:
            return one
        if one.id in newer:
            return msgspec.structs.replace(one, state="superseded", superseded_by=newer[one.id])
        if one.id in overruled:
            return msgspec.structs.replace(one, state="superseded")
        return msgspec.structs.replace(one, state="expired") if one.id in crowded else one

    after = map(settled_beside, standing)
    return [new for old, new in zip(before, after, strict=True) if new != old]


def next_expiry(learnings: Iterable[Learning]) -> int | None:
    """Return when the first of the pending actions is over, None for none."""
    return min((x.expires_at for x in learnings if x.state == "active" and x.expires_at is not None), default=None)


def _said(known: Known, action_days: int) -> Learning | None:
    learning = combined(_standing(known) or known.sightings, action_days=action_days)
    if learning is None or not any(v.verdict in ("said", "confirm") for v in known.verdicts):
        return learning
    features = learning.features | {CONFIRMED: round(MOST_CONFIDENCE - min(MOST_CONFIDENCE, learning.confidence), 3)}
    return msgspec.structs.replace(learning, features=features, confidence=confidence_of(features))


def _standing(known: Known) -> list[Sighting]:
    """Return what speaks of a learning, and a person's own words; nothing where all of it was undone."""
    written = [Sighting("", v.verdict, v.learning) for v in known.verdicts if v.learning is not None]
    found = [*(s for s in known.sightings if s.learning.state != "undone"), *written]
    return found if any(s.origin != BY_CLOSING for s in found) else []


def _by_person(known: Known) -> LearningState | None:
    newest = _newest(known.verdicts)
    if newest is None:
        return None
    if newest.verdict == "said" and newest.learning is not None and newest.learning.kind == "action":
        return None  # something to do that a person wrote down waits as any other
    return _OF_VERDICT[newest.verdict]


def _newest(verdicts: Sequence[Verdict]) -> Verdict | None:
    return verdicts[-1] if verdicts else None


def _is_quarantined(sightings: Sequence[Sighting]) -> bool:
    """What one session had to hold back is held back: another's harmless words for it would have another id."""
    return any(s.learning.state == "quarantined" for s in sightings)


def _closed_at(sightings: Sequence[Sighting], learning: Learning) -> int | None:
    """Return when an action was done, according to later events; None if it was requested again since."""
    asked = max((e.ts for e in learning.evidence if e.ts is not None), default=learning.recorded_at)
    done = [s.learning.done_at for s in sightings if s.origin == BY_CLOSING and s.learning.done_at is not None]
    return min((at for at in done if at > asked), default=None)


def _is_over(learning: Learning, now_us: int) -> bool:
    return learning.kind == "action" and learning.expires_at is not None and learning.expires_at <= now_us


def _is_pending(learning: Learning, now_us: int) -> bool:
    """Return whether a learning holds unless another one overrides it; one that was crowded out is `expired` early."""
    is_early = learning.state == "expired" and not _is_over(learning, now_us)
    return learning.state in ("active", "superseded") or is_early


def _superseded(learnings: Sequence[Learning]) -> dict[str, str]:
    """Return the ids of superseded learnings, with the id of the newer one."""
    holding = [one for one in learnings if one.state in ("active", "confirmed")]
    found: dict[str, str] = {}
    by_subject: dict[tuple[str, ...], list[Learning]] = {}
    for one in holding:
        if one.kind in ("fact", "pattern") and _NUMBER.search(one.text):
            subject = (one.kind, one.scope, one.repo, one.path, _NUMBER.sub("#", normalised(one.text)))
            by_subject.setdefault(subject, []).append(one)
    for group in by_subject.values():
        newest = max(group, key=_age)
        found.update((one.id, newest.id) for one in group if one is not newest)
    for correction in holding:
        for wrong in _wrong_words(correction.text):
            for one in holding:
                if _age(one) < _age(correction) and _is_corrected(one, correction, wrong):
                    found.setdefault(one.id, correction.id)
    return found


def _same_actions(learnings: Sequence[Learning], pending: Container[str]) -> dict[str, str]:
    """Return the ids of pending actions that another one covers, with its id.

    A done action covers requests made before; among pending ones the first counts, or one with a person's verdict.
    pending: ids of those that may be superseded.
    """
    groups: dict[tuple[str, ...], list[Learning]] = {}
    for one in learnings:
        key = action_key(one.text) if one.kind == "action" and one.state in ("active", "confirmed", "done") else ()
        if key:
            groups.setdefault((one.scope, one.repo, one.path, one.agent, "", *key), []).append(one)
    found: dict[str, str] = {}
    for group in groups.values():
        done = [one for one in group if one.state == "done" and one.done_at is not None]
        waiting = [one for one in group if one.state != "done"]
        for one in waiting:
            over = [x for x in done if x.done_at is not None and x.done_at >= _age(one)[0]]
            if over and one.id in pending:
                found[one.id] = min(over, key=_first).id
        left = [one for one in waiting if one.id not in found]
        head = min(left, key=lambda one: (one.id in pending, *_first(one)), default=None)
        found.update((one.id, head.id) for one in left if head is not None and one is not head and one.id in pending)
    return found


def _joined(action: Learning, others: Sequence[Learning]) -> Learning:
    """Return an action with what others know of it that ask for the same: evidence, the more urgent priority, the later
    end."""
    if not others or action.state == "done":
        return action
    known = {(e.session_uid, e.event_id, e.part): e for one in (action, *others) for e in one.evidence}
    features = dict(action.features)
    again = len({session for session, _, _ in known}) - 1
    if again > 0:
        features[SEEN_AGAIN] = round(min(MOST_SEEN_AGAIN, EACH_TIME * again), 3)
    ends = [one.expires_at for one in (action, *others) if one.expires_at is not None]
    return msgspec.structs.replace(
        action,
        evidence=tuple(sorted(known.values(), key=lambda e: (e.ts or 0, e.session_uid, e.seq, e.part, e.event_id))),
        features=features,
        confidence=confidence_of(features),
        priority=min((one.priority for one in (action, *others)), key=_URGENCY.__getitem__),
        expires_at=max(ends, default=None),
    )


def _first(learning: Learning) -> tuple[int, str]:
    return min((e.ts for e in learning.evidence if e.ts is not None), default=learning.recorded_at), learning.id


def _wrong_words(text: str) -> list[str]:
    return [normalised(match["wrong"]) for match in _NOT_THAT.finditer(text)]


def _is_corrected(older: Learning, correction: Learning, wrong: str) -> bool:
    """Return whether an older learning says what a correction calls wrong, and only mentions what it mentions; or
    tells to use that, about something that the correction covers.
    """
    words = _words(older.text)
    if not _is_for_same(older, correction) or wrong not in words or wrong in _wrong_words(older.text):
        return False
    rest = words - {wrong} - _FILLERS
    if rest and rest <= _words(correction.text):
        return True
    is_asked = older.kind in _ASKING and correction.kind in _ASKING and wrong in _right_words(older.text)
    narrower = _words(correction.text) - {wrong} - _right_words(correction.text) - _FILLERS
    return is_asked and narrower <= words


def _is_for_same(older: Learning, newer: Learning) -> bool:
    """Return whether two are for one place. What holds in one repository does not unsay what holds everywhere."""
    return older.repo == newer.repo and (not older.path or older.path == newer.path)


def _right_words(text: str) -> set[str]:
    found = _USE_THAT.finditer(text)
    return {normalised(match["right"]) for match in found if not _REFUSED.search(text, 0, match.start())}


def _words(text: str) -> set[str]:
    return set(_WORD.findall(normalised(text)))


def _age(learning: Learning) -> tuple[int, int, str]:
    """Return by what learnings are put in order of time. A tie on the time is decided by the id."""
    newest = max((e.ts for e in learning.evidence if e.ts is not None), default=learning.recorded_at)
    return newest, learning.recorded_at, learning.id


def _crowded_out(learnings: Sequence[Learning], superseded: dict[str, str], most: int) -> set[str]:
    waiting = [x for x in learnings if x.kind == "action" and x.state == "active" and x.id not in superseded]
    waiting.sort(key=lambda x: (_URGENCY[x.priority], *(-part for part in _age(x)[:2]), x.id))
    return {one.id for one in waiting[most:]}
