"""Weighs the evidence that a decision led to edits, as named features in hundredths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from recollect.insights.subjects import Vocabulary, code_in, ends_with_path, identifiers_in, is_said, paths_in, phrase
from recollect.late import late_pattern
from recollect.model.insights.nodes import Binding, Conversation, Decision, Episode, Evidence, node_id

HUNDREDTHS: Final[Mapping[str, int]] = {
    "path_said": 50, "path_in_talk": 25, "option_written": 35, "option_scattered": 25, "option_in_path": 30,
    "name_written": 25, "name_in_talk": 10, "rejected_removed": 25, "same_turn": 25, "next_turn": 5, "nearest": 10,
    "confirmed": 25, "sole": 25, "announced": 25, "unrelated": -20, "deleted": -15, "other_path": -10, "compacted": -10,
    "later_turn": -10, "far": -20, "asked": 45, "subagent": 15, "soon": 10,
    "same_option": 45, "same_question": 60, "same_rejected": 25, "same_place": 45, "change": 30, "named": 20,
    "swapped": 20, "explicit": 15, "reversal": 20, "shared_path": 15, "shared_question": 15, "same_session": 10,
}  # fmt: skip
"""What each feature adds to the confidence of a binding or link (docs/development/insight-rules.md).
subagent: the session was started by that of the decision; soon: within an hour of the decision."""
THRESHOLD, THRESHOLD_OF_OTHER_TURNS = 60, 75
"""Below this there is no binding; edits of another turn answer another request, as a rule."""
FAR_TURNS = 8
MAX_PATHS = 20
MAX_NAMES = 60

_TAKE_OUT = late_pattern(
    r"\b(?:remov(?:e|ing)|delet(?:e|ing)|drop(?:ping)?|get(?:ting)? rid of|no longer (?:us|need)[a-z]*+) ++",
    re.IGNORECASE,
)
"""What says that something is to go. The object stands behind it, so `removeItem` is none."""
_NO_ORDER = frozenset("a add an don't dont each never new no not of than the use using without".split())
"""Behind these it is a name ("the drop shadow"), or says that something is not to go."""
_TAKES_BACK = frozenset(("ban", "reject", "reverse"))
_BEFORE_CHARS = 20
_OBJECT_CHARS = 120
_OBJECT_ENDS = late_pattern(
    r"[,;:!?\n]|\.(?=\s|\Z)|\b(?:after|and(?! *`)|as|at|because|before|but|by|for|from|if|in|instead|into|on|since|so"
    r"|that|to|unless|until|when|where|which|while|with)\b",
    re.IGNORECASE,
)


class Subject(NamedTuple):
    """What a decision or conversation speaks of, in the form that is compared (`insights.subjects`)."""

    paths: tuple[str, ...]
    """Paths in the deciding words."""
    talk_paths: tuple[str, ...]
    """Paths in the rest of its conversation."""
    chosen: tuple[str, ...]
    rejected: tuple[str, ...]
    names: tuple[str, ...]
    """Names of code in the deciding words."""
    talk_names: tuple[str, ...]
    """Names of code in the rest of its conversation: what "do that" stands for."""
    dropped: tuple[str, ...] = ()
    """Names of code in the deciding words that are to go; in none of the others."""
    codes: tuple[str, ...] = ()
    """Code in the options, verbatim."""
    said_codes: tuple[str, ...] = ()
    """Code in the deciding words that isn't turned down, verbatim."""
    takes_out: bool = False
    """Something is turned down, forbidden, reverted or ordered to go."""

    def has_words(self) -> bool:
        """Say whether there is anything to look for in the text of an edit."""
        return bool(self.chosen or self.rejected or self.talk_names or self.has_code())

    def has_code(self) -> bool:
        """Say whether the deciding words name code, which an edit that carries them out writes or takes out."""
        return bool(self.names or self.dropped or self.said_codes)

    def keys(self) -> frozenset[str]:
        """The options that it is about; a later decision with one of them replaces it."""
        return frozenset((*self.chosen, *self.rejected))


def subject_of(decision: Decision, conversation: Conversation | None) -> Subject:
    """Return what a decision speaks of. A file that it turns down or forbids is none that it leads to."""
    turned_down = paths_in(" ".join(rejected := decision.rejected))
    said = tuple(path for path in (*decision.paths, *paths_in(decision.statement)) if path not in turned_down)
    talk = paths_in(conversation.text) if conversation else ()
    if decision.polarity in ("ban", "reject"):
        said, talk = (), ()
    orders = {option: _order(option) for option in decision.chosen}
    chosen = tuple(option for option, order in orders.items() if not order)
    out = (*rejected, *filter(None, orders.values()))
    # what is reverted may come back as well as go
    dropped = _dropped(decision.statement, chosen, () if decision.polarity == "reverse" else out)
    names = [name for name in identifiers_in(f"{decision.statement}\n{' '.join(chosen)}") if name not in dropped]
    talk_names = identifiers_in(conversation.text) if conversation else ()
    return Subject(
        paths=tuple(dict.fromkeys(said))[:MAX_PATHS],
        talk_paths=tuple(path for path in talk if path not in said and path not in turned_down)[:MAX_PATHS],
        chosen=_keys(chosen),
        rejected=_keys(out),
        names=tuple(names[:MAX_PATHS]),
        talk_names=tuple(name for name in talk_names if name not in names and name not in dropped)[:MAX_NAMES],
        dropped=dropped[:MAX_PATHS],
        codes=tuple(code for option in chosen for code in code_in(option)),
        said_codes=tuple(
            code
            for code in code_in(decision.statement)
            if not any(code in option for option in out) and not set(identifiers_in(f"`{code}`")) & set(dropped)
        ),
        takes_out=bool(out or dropped) or decision.polarity in _TAKES_BACK or _takes_out(decision.statement),
    )


def _order(option: str) -> str:
    """Return what an option orders to take out ("remove the cache": "the cache"), "" for none."""
    option = option.lstrip()
    found = _TAKE_OUT.match(option)
    return _object(option, found.end()) if found else ""


def _object(text: str, start: int) -> str:
    end = _OBJECT_ENDS.search(text, start, start + _OBJECT_CHARS)
    return text[start : end.start() if end else start + _OBJECT_CHARS]


def _dropped(statement: str, chosen: Iterable[str], out: Iterable[str]) -> tuple[str, ...]:
    """Return the names of code that are to go: in what is turned down or ordered to take out, and not chosen."""
    going = "\n".join((*(option for option in out if not _order(option)), *_ordered(statement)))
    names = identifiers_in(going) if going else ()
    if not names:
        return ()
    options = "\n".join(chosen)
    kept = set(identifiers_in(options)).difference(identifiers_in("\n".join(_ordered(options))))
    return tuple(name for name in names if name not in kept)


def _ordered(text: str) -> Iterator[str]:
    """Yield what a text orders to take out."""
    for found in _TAKE_OUT.finditer(text):
        before = text[max(0, found.start() - _BEFORE_CHARS) : found.start()].split()
        if not before or before[-1].lower() not in _NO_ORDER:
            yield _object(text, found.end())


def _takes_out(text: str) -> bool:
    return any(True for _ in _ordered(text))


def subject_of_talk(conversation: Conversation) -> Subject:
    """Return what a conversation without a decision speaks of: the paths in it."""
    text = conversation.text
    return Subject(paths_in(text)[:MAX_PATHS], (), (), (), (), (), takes_out=_takes_out(text))


def _keys(options: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for option in options if (key := phrase(option))))


class Written(NamedTuple):
    """What an edit wrote: its paths, and the vocabularies of what it added and removed and of its paths."""

    paths: tuple[str, ...]
    added: Vocabulary
    removed: Vocabulary
    in_paths: Vocabulary


def written(paths: Iterable[str], added: str, removed: str) -> Written:
    """Return what an edit wrote, in the form that is compared."""
    paths = tuple(paths)
    names = (path.rstrip("/").replace("\\", "/").rpartition("/")[2] for path in paths)
    in_paths = Vocabulary(" ".join(name.rpartition(".")[0] or name for name in names))
    return Written(paths, Vocabulary(added), Vocabulary(removed), in_paths)


def content_features(subject: Subject, edit: Written, *, is_other_file: bool = False) -> list[str]:
    """Return what of an edit's paths and text speaks for a subject.

    is_other_file: it is known that the deciding words mean another file of that name.
    """
    found: list[str] = []
    if not is_other_file and names_path(subject, edit.paths):
        found.append("path_said")
    elif subject.paths:
        found.append("other_path")
    elif any(ends_with_path(path, said) for said in subject.talk_paths for path in edit.paths):
        found.append("path_in_talk")
    said = [key for key in subject.chosen if is_said(key, edit.added)]
    if said and _is_whole(subject, said, edit.added):
        found.append("option_written")
    elif said:
        found.append("option_scattered")
    elif any(is_said(key, edit.in_paths) for key in subject.chosen):
        found.append("option_in_path")
    elif any(name in edit.added for name in subject.names) or any(map(edit.added.holds, subject.said_codes)):
        found.append("name_written")
    elif any(name in edit.added for name in subject.talk_names):
        found.append("name_in_talk")
    if any(is_said(key, edit.removed) and not is_said(key, edit.added) for key in subject.rejected) or (
        subject.dropped and any(name in edit.removed and name not in edit.added for name in subject.dropped)
    ):
        found.append("rejected_removed")
    if set(found) <= {"path_in_talk", "other_path"} and subject.has_words() and (edit.added or edit.removed):
        found.append("unrelated")
    return found


def _is_whole(subject: Subject, said: Iterable[str], added: Vocabulary) -> bool:
    """Return whether options occur in an edit as meant: code as written, words in one line of it."""
    if subject.codes:
        return any(added.holds(code) for code in subject.codes)
    return any(added.has_line(key) for key in said)


def names_path(subject: Subject, paths: Iterable[str]) -> bool:
    """Say whether the deciding words name one of the paths, or its end."""
    return any(ends_with_path(path, said) for path in paths for said in subject.paths)


def total(features: Iterable[str]) -> int:
    """Return the confidence in hundredths: the sum, at most 100."""
    return min(100, sum(map(HUNDREDTHS.__getitem__, features)))


def shares(features: Iterable[str]) -> dict[str, float]:
    """Return what each feature adds."""
    return {name: HUNDREDTHS[name] / 100 for name in features}


def binding_of(
    source: Decision | Conversation, episode: Episode, features: Sequence[str], edit: Evidence, *,
    ts: int | None, turn_index: int,
) -> Binding:  # fmt: skip
    """Return the binding of a source with an episode. edit: what carries it out, at `ts` in a turn."""
    return Binding(
        id=node_id("binding", source.id, episode.id),
        session_uid=episode.session_uid,
        location=edit.location,
        ts=ts,
        turn_index=turn_index,
        confidence=total(features) / 100,
        features=shares(features),
        evidence=(edit, *source.evidence[:2]),
        source=source.id,
        episode=episode.id,
        relation="produced",
        used_session=source.session_uid,
        generated_session=episode.session_uid,
        t_use=source.ts,
        t_gen=ts,
    )
