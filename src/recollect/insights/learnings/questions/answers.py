"""Checks a model's answer against what the model was shown, and keeps what holds.

Who said something is known of the events, not of the model; a quote must stand in its event. What cannot be used is
given back with the reason, for quarantine: kept, shown on demand, never given to an agent.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from recollect.endpoints.chat_interface import ChatAnswer
from recollect.insights.language.substance import is_for_all_in_any, makes_sense
from recollect.insights.learnings.identity import LONGEST_TEXT, bounded, confidence_of, learning_id
from recollect.insights.learnings.questions.batches import TurnBatch
from recollect.insights.learnings.questions.excerpts import Excerpt
from recollect.insights.learnings.questions.prompts import MAX_LEARNINGS, Held, held, named, notes_in, said
from recollect.insights.learnings.quote_check import NAME, folded, stands_in, stems
from recollect.insights.learnings.safety import STEERING, judged, may_become
from recollect.model.learnings.learnings import Author, Learning, LearningEvidence, LearningKind, Priority, Scope
from recollect.model.marker import names_marker
from recollect.privacy.password_sentences import tells_credential

MOST_CONFIDENCE: Final = 0.6
"""Of what only a model says; more needs other sessions or a person."""
MAX_EVIDENCE: Final = 5
_LEAST_TEXT_CHARS: Final = 8
_MAX_QUARANTINED: Final = 20
_BASE: Final = 0.35
_TRUST: Final[tuple[Author, ...]] = ("user", "assistant", "tool", "web")
"""From the best to the worst."""


class Judged(NamedTuple):
    """What an answer came to."""

    learnings: tuple[Learning, ...]
    quarantined: tuple[Held, ...]


class _Evidence(msgspec.Struct, forbid_unknown_fields=True):
    event: str
    quote: str


class _Item(msgspec.Struct, forbid_unknown_fields=True):
    kind: LearningKind
    text: str
    scope: Scope
    evidence: list[_Evidence]
    path: str = ""
    priority: Priority = ""


class _Unusable(Exception):
    """One note of an answer cannot be kept."""


def judge(answer: ChatAnswer, batch: TurnBatch, *, extractor: str) -> Judged:
    """Return the learnings of an answer, and what of it cannot be used. Never raises for what a model says."""
    if answer.stop == "refusal":
        return Judged((), (held("the model refused", answer.text),))
    items, whole = notes_in(answer, batch.excerpts)
    aside: list[Held] = [whole] if whole is not None else []
    found: dict[str, Learning] = {}
    for number, raw in enumerate(items):
        if number >= MAX_LEARNINGS:
            aside.append(held(f"more than {MAX_LEARNINGS} notes", said(items[number:])))
            break
        try:
            learning = _learning(raw, batch, extractor)
        except _Unusable as error:
            aside.append(held(str(error), said(raw)))
        else:
            found.setdefault(learning.id, learning)
    return Judged(tuple(found.values()), tuple(aside[:_MAX_QUARANTINED]))


def _learning(raw: Any, batch: TurnBatch, extractor: str) -> Learning:
    try:
        item = msgspec.convert(raw, _Item)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _Unusable(f"a wrong form: {error}") from error
    shown, evidence = _evidence(item, batch)
    authors = {excerpt.author for excerpt in shown}
    if not _may_be(item.kind, authors):
        raise _Unusable(f"{_named_kind(item.kind)} that only rests on what {' and '.join(sorted(authors))} said")
    worst = max(authors, key=_TRUST.index)
    text = _text(item, worst)
    if item.kind in STEERING and _is_borrowed(text, item.kind, batch):
        raise _Unusable(f"{_named_kind(item.kind)} in the words of what tools said")
    is_foreign = not authors & {"user", "assistant"}
    if is_foreign:
        text = bounded(f"{text} ({worst} output: “{evidence[0].quote}”)")
    scope, path = _place(item, batch)
    if item.kind == "preference" and scope == "user" and batch.session.repo:
        # As of the rules' preferences: it holds everywhere only where the person said so.
        scope = "user" if any(is_for_all_in_any(one.quote) for one in evidence) else "repo"
    repo = batch.session.repo if scope != "user" else ""
    features = _features(text, shown, evidence)
    return Learning(
        id=learning_id(item.kind, scope, repo, path, text),
        kind=item.kind,
        text=text,
        scope=scope,
        repo=repo,
        path=path,
        status="hypothesis",
        confidence=confidence_of(features),
        features=features,
        valid_from=max((e.ts for e in evidence if e.ts is not None), default=None),
        evidence=tuple(evidence),
        extractor=extractor,
        priority=item.priority if item.kind == "action" else "",
    )


def _named_kind(kind: LearningKind) -> str:
    return f"an {kind}" if kind == "action" else f"a {kind}"


def _may_be(kind: LearningKind, authors: set[Author]) -> bool:
    """What an agent wants, or takes back, is not the user's: a model that reads along may take one for the other."""
    return may_become(kind, authors) and (kind not in ("preference", "correction") or "user" in authors)


def _is_borrowed(text: str, kind: LearningKind, batch: TurnBatch) -> bool:
    """Return whether an instruction to an agent comes only from tools or pages, although its evidence quotes a
    person: a page may have a model write its orders down and quote the user for them. One name that occurs
    nowhere else is enough, or more than a third of the other words.
    """
    trusted: set[Author] = {"user"} if kind == "preference" else {"user", "assistant"}
    own = "\n".join(excerpt.text for excerpt in batch.excerpts if excerpt.author in trusted)
    other = "\n".join(excerpt.text for excerpt in batch.excerpts if excerpt.author not in trusted)
    own_text, other_text = folded(own).casefold(), folded(other).casefold()
    names = {folded(found[1] or found[0]).casefold() for found in NAME.finditer(text)}
    if any(name in other_text and name not in own_text for name in names):
        return True
    words = stems(text)
    borrowed = (words & stems(other)) - stems(own)
    return 3 * len(borrowed) > len(words)


def _text(item: _Item, author: Author) -> str:
    """Return the note's text, cleaned. It is judged as the least trustworthy of its evidence, or as the assistant's:
    the words are a model's, whoever it quotes."""
    if len(item.text) > 2 * LONGEST_TEXT:
        raise _Unusable(f"a text of {len(item.text):,} characters")
    if names_marker(item.text):
        raise _Unusable("it names a secret's marker")
    if tells_credential(item.text):
        raise _Unusable("it tells a credential")
    found = judged(item.text, author if author in ("tool", "web") else "assistant")
    if found.held_back:
        raise _Unusable(f"held back: {found.held_back}")
    if len(found.text) < _LEAST_TEXT_CHARS:
        raise _Unusable("hardly a text")
    if not makes_sense(found.text):
        raise _Unusable("it makes no sense by itself")
    return found.text


def _evidence(item: _Item, batch: TurnBatch) -> tuple[list[Excerpt], list[LearningEvidence]]:
    """Return the existing evidence: events of the batch that contain the quote."""
    shown: list[Excerpt] = []
    evidence: list[LearningEvidence] = []
    wrong = "no evidence"
    for given in item.evidence[:MAX_EVIDENCE]:
        excerpt = named(given.event, batch.excerpts)
        if excerpt is None:
            wrong = f"evidence that was not shown: {bounded(given.event, 40)!r}"
        elif not stands_in(given.quote, excerpt.text):
            wrong = f"a quote that is not in its event: {bounded(given.quote, 80)!r}"
        elif tells_credential(given.quote):
            wrong = "a quote that tells a credential"
        elif excerpt not in shown:
            shown.append(excerpt)
            evidence.append(
                LearningEvidence(
                    excerpt.session_uid,
                    excerpt.event_id,
                    excerpt.part,
                    excerpt.author,
                    seq=excerpt.seq,
                    ts=excerpt.ts,
                    quote=bounded(given.quote),
                )
            )
    if not evidence:
        raise _Unusable(wrong)
    return shown, evidence


def _place(item: _Item, batch: TurnBatch) -> tuple[Scope, str]:
    """Return scope and path. A path that was not shown is none; without a repository nothing is known of one."""
    if item.scope == "user":
        return "user", ""
    if not batch.session.repo:
        raise _Unusable(f"scope {item.scope!r} in a session of no repository")
    if item.scope == "repo":
        return "repo", ""
    path = item.path.strip().replace("\\", "/").removeprefix("./")
    root = batch.session.repo_root.replace("\\", "/").rstrip("/")
    if root and path.startswith(root + "/"):
        path = path[len(root) + 1 :]
    parts = path.split("/")
    is_inside = bool(path) and not path.startswith(("/", "~")) and ":" not in parts[0] and ".." not in parts
    is_shown = any(path.rstrip("/") in excerpt.text or path in excerpt.where for excerpt in batch.excerpts)
    return ("path", path.rstrip("/")) if is_inside and is_shown and len(path) <= LONGEST_TEXT else ("repo", "")


def _features(text: str, shown: list[Excerpt], evidence: list[LearningEvidence]) -> dict[str, float]:
    """Return what the confidence is made of; together at most MOST_CONFIDENCE."""
    features = {"said by a model": _BASE}
    if any(excerpt.author == "user" for excerpt in shown):
        features["the user's words"] = 0.1
    if len(evidence) > 1:
        features["several quotes"] = 0.05
    features["words of its evidence"] = round(0.1 * _grounded(text, shown), 3)
    if not any(excerpt.author in ("user", "assistant") for excerpt in shown):
        features["only tool output"] = -0.1
    return features


def _grounded(text: str, shown: list[Excerpt]) -> float:
    """Return the share of a note's words whose beginning occurs in its evidence, 0 to 1."""
    words = stems(text)
    there = stems("\n".join(excerpt.text for excerpt in shown))
    return len(words & there) / len(words) if words else 0.0
