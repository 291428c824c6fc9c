"""What of a model's answer can be kept. What the model claims is checked against what it was shown, never believed.

Who said something is known of the events, not of the model; a quote must stand in its event. What cannot be used is
given back with the reason, for quarantine: kept, shown on demand, never given to an agent.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from recollect.endpoints.chat import ChatAnswer
from recollect.insights.language.substance import is_for_all_in_any, makes_sense
from recollect.insights.learnings.identity import LONGEST_TEXT, bounded, confidence_of, learning_id
from recollect.insights.learnings.questions.batches import TurnBatch
from recollect.insights.learnings.questions.excerpts import Excerpt
from recollect.insights.learnings.questions.prompts import MAX_LEARNINGS
from recollect.insights.learnings.safety import STEERING, judged, may_become
from recollect.model.learnings.learnings import Author, Learning, LearningEvidence, LearningKind, Priority, Scope
from recollect.model.marker import names_marker
from recollect.privacy.sentences import tells_credential

MOST_CONFIDENCE: Final = 0.6
"""Of what only a model says; more needs other sessions or a person."""
LEAST_QUOTE_CHARS: Final = 6
MAX_EVIDENCE: Final = 5
_LEAST_TEXT_CHARS: Final = 8
_MAX_QUARANTINED: Final = 20
_QUARANTINED_CHARS: Final = 2_000
_BASE: Final = 0.35
_WORD: Final = re.compile(r"\w{4,}")
_STEM: Final = 4
_NAME: Final = re.compile(r"`([^`\n]+)`|[\w@~]+(?:[-./:\\_@][\w*]+)+")
"""What is between backticks, and words with signs inside: commands, packages, paths, versions."""
_SAME: Final = str.maketrans({"“": '"', "”": '"', "„": '"', "’": "'", "‘": "'", "\u00a0": " ", "–": "-", "—": "-"})
_TRUST: Final[tuple[Author, ...]] = ("user", "assistant", "tool", "web")
"""From the best to the worst."""


class Held(NamedTuple):
    """Something of an answer that is not used. text: as the model gave it, cut."""

    reason: str
    text: str


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
        return Judged((), (_held("the model refused", answer.text),))
    items, whole = _items(answer)
    held: list[Held] = [whole] if whole is not None else []
    found: dict[str, Learning] = {}
    for number, raw in enumerate(items):
        if number >= MAX_LEARNINGS:
            held.append(_held(f"more than {MAX_LEARNINGS} notes", _said(items[number:])))
            break
        try:
            learning = _learning(raw, batch, extractor)
        except _Unusable as error:
            held.append(_held(str(error), _said(raw)))
        else:
            found.setdefault(learning.id, learning)
    return Judged(tuple(found.values()), tuple(held[:_MAX_QUARANTINED]))


def _items(answer: ChatAnswer) -> tuple[list[Any], Held | None]:
    """Return the notes of an answer, and the answer itself where it is not what was asked for."""
    data = answer.data
    is_cut = answer.stop == "length"
    if isinstance(data, dict) and isinstance(data.get("learnings"), list):
        strange = sorted(key for key in data if key != "learnings")
        held = _held("further fields beside the notes", _said({key: data[key] for key in strange})) if strange else None
        return data["learnings"], held
    if data is not None:
        return [], _held("not of the form that was asked for", answer.text)
    # Whole notes of an answer that breaks off are as good as any other.
    items = _whole_items(answer.text)
    return items, _held("broken off" if is_cut else "no JSON", answer.text)


def _whole_items(text: str) -> list[Any]:
    """Return the whole objects in the list "learnings" of JSON that breaks off."""
    start = re.search(r'"learnings"\s*:\s*\[', text)
    found: list[Any] = []
    at = start.end() if start else len(text)
    while (at := text.find("{", at)) >= 0:
        end = _end_of_object(text, at)
        if end < 0:
            break
        try:
            found.append(msgspec.json.decode(text[at:end]))
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            break
        at = end
    return found


def _end_of_object(text: str, start: int) -> int:
    """Return where the object that begins here ends, -1 where it does not."""
    depth, is_text = 0, False
    for found in re.finditer(r'\\.|["{}]', text[start:], re.DOTALL):
        sign = found[0]
        if sign == '"':
            is_text = not is_text
        elif not is_text and sign in "{}":
            depth += 1 if sign == "{" else -1
            if depth == 0:
                return start + found.end()
    return -1


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
    """Tell whether what steers an agent says what only tools or pages said, though its evidence is a person's words: a
    page may have a model write its orders down and quote the user for them. A name that stands nowhere else is enough,
    of other words more than a third."""
    trusted: set[Author] = {"user"} if kind == "preference" else {"user", "assistant"}
    own = "\n".join(excerpt.text for excerpt in batch.excerpts if excerpt.author in trusted)
    other = "\n".join(excerpt.text for excerpt in batch.excerpts if excerpt.author not in trusted)
    own_text, other_text = _folded(own).casefold(), _folded(other).casefold()
    names = {_folded(found[1] or found[0]).casefold() for found in _NAME.finditer(text)}
    if any(name in other_text and name not in own_text for name in names):
        return True
    words = _stems(text)
    borrowed = (words & _stems(other)) - _stems(own)
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
    """Return the evidence that is there: events of the batch in which the quote stands."""
    shown: list[Excerpt] = []
    evidence: list[LearningEvidence] = []
    wrong = "no evidence"
    for given in item.evidence[:MAX_EVIDENCE]:
        excerpt = _named(given.event, batch.excerpts)
        if excerpt is None:
            wrong = f"evidence that was not shown: {bounded(given.event, 40)!r}"
        elif not _stands_in(given.quote, excerpt.text):
            wrong = f"a quote that is not in its event: {bounded(given.quote, 80)!r}"
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


def _named(label: str, excerpts: Sequence[Excerpt]) -> Excerpt | None:
    found = re.fullmatch(r"\s*e([1-9][0-9]{0,4})\s*", label)
    number = int(found[1]) if found else 0
    return excerpts[number - 1] if 0 < number <= len(excerpts) else None


def _stands_in(quote: str, text: str) -> bool:
    """Tell whether a quote stands in a text; white space, kinds of quotation marks and dashes don't count."""
    said = _folded(quote)
    return len(said) >= LEAST_QUOTE_CHARS and said in _folded(text)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).translate(_SAME).split())


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
    """Return the share of a note's words whose beginning stands in its evidence, 0 to 1."""
    words = _stems(text)
    there = _stems("\n".join(excerpt.text for excerpt in shown))
    return len(words & there) / len(words) if words else 0.0


def _stems(text: str) -> set[str]:
    """Return the beginnings of a text's words; of what has inflections they stay the same."""
    return {word[:_STEM] for word in _WORD.findall(text.casefold())}


def _said(raw: Any) -> str:
    return msgspec.json.encode(raw).decode("utf-8", "replace")


def _held(reason: str, text: str) -> Held:
    return Held(reason, text[:_QUARANTINED_CHARS])
