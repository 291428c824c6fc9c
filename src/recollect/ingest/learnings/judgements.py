"""A person's verdict on learnings: small writes without the ingest lock."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from recollect.errors import BrokenInvariant, StoreError, UsageError
from recollect.files import write_file
from recollect.ingest.learnings.status import NewLearning
from recollect.insights.learnings.identity import LONGEST_TEXT, confidence_of, learning_id
from recollect.insights.learnings.settlement import PERSON
from recollect.insights.learnings.user_file import (
    KEPT_STATES,
    Written,
    find_region,
    line_of,
    own_lines,
    preferences_for,
    removed_by_hand,
    render,
    state_of,
)
from recollect.model.learnings.learnings import GIVEN_STATES, Learning
from recollect.store.learnings import Known, LearningFilter, LearningReader, LearningStore, Verdict, open_learning_store

if TYPE_CHECKING:
    from recollect.ingest.open_home import OpenHome


WRITTEN_DOWN = "written down"
"""The feature of what a person wrote themselves."""


class Judgements:
    """Stores verdicts. They survive every derivation; the newest one of a learning counts."""

    def __init__(self, home: OpenHome, now_us: Callable[[], int]) -> None:
        self._home = home
        self._now_us = now_us

    def confirm(self, learning: Learning, *, reason: str) -> Learning:
        """Keep that a learning is right."""
        return self._judge(learning, Verdict(verdict="confirm", at=self._now_us(), reason=self._clean(reason)))

    def retire(self, learning: Learning, *, reason: str) -> Learning:
        """Keep that a learning does not hold."""
        return self._judge(learning, Verdict(verdict="retire", at=self._now_us(), reason=self._clean(reason)))

    def done(self, learning: Learning, *, reason: str) -> Learning:
        """Keep that an action was done."""
        if learning.kind != "action":
            raise UsageError(
                f"{learning.id} is a {learning.kind}, nothing to do", hint="`recollect actions` lists them"
            )
        return self._judge(learning, Verdict(verdict="done", at=self._now_us(), reason=self._clean(reason)))

    def correct(self, learning: Learning, text: str, *, reason: str) -> Learning:
        """Keep what is right instead of a learning; that one is superseded."""
        now = self._now_us()
        right = self._written(
            NewLearning(
                text=text, kind=learning.kind, scope=learning.scope, repo=learning.repo, path=learning.path,
                priority=learning.priority, expires_at=learning.expires_at,
            ), now,
        )  # fmt: skip
        if right.id == learning.id:
            raise UsageError("the learning already says that", hint=f"recollect learnings confirm {learning.id}")
        corrected = Verdict(verdict="correct", at=now, reason=self._clean(reason), replaced_by=right.id)
        with open_learning_store(self._home.home) as store, store.transaction():
            store.add_verdict(right.id, Verdict(verdict="said", at=now, learning=right))
            store.add_verdict(learning.id, corrected)
            self._settle(store, (right.id, learning.id))
        return self._kept(right.id)

    def add(self, new: NewLearning) -> Learning:
        """Keep what a person writes down."""
        now = self._now_us()
        written = self._written(new, now)
        with open_learning_store(self._home.home) as store, store.transaction():
            store.add_verdict(written.id, Verdict(verdict="said", at=now, learning=written))
            self._settle(store, (written.id,))
        return self._kept(written.id)

    def write_user_file(self, path: Path) -> UserFileReport:
        """Have `user.md` say what the user prefers, after what they took out of it was retired."""
        with open_learning_store(self._home.home) as store:
            written = written_before(store.note(USER_FILE_NOTE), str(path))
            removed = [known.id for known in store.known(find_removed(path, written)) if not _is_retired(known)]
            if removed:
                gone = Verdict(verdict="retire", at=self._now_us(), reason=f"its line was taken out of {path.name}")
                with store.transaction():
                    for learning_id in removed:
                        store.add_verdict(learning_id, gone)
                    self._settle(store, removed)
            report, now = write_user_file(path, self._preferences(), written)
            if now != written:
                with store.transaction():
                    store.set_note(USER_FILE_NOTE, msgspec.json.encode(now))
        return msgspec.structs.replace(report, removed=tuple(removed))

    def _preferences(self) -> list[Learning]:
        with closing(LearningReader(self._home.home)) as reader:
            return reader.learnings(LearningFilter(kinds=("preference",), scopes=("user",), states=GIVEN_STATES))

    def settle_batch(self, batch: str) -> int:
        """Recompute the learnings of a batch after it was undone."""
        with closing(LearningReader(self._home.home)) as reader:
            ids = [one.id for one in reader.learnings(LearningFilter(batch=batch)) if one.state != "retired"]
        with open_learning_store(self._home.home) as store, store.transaction():
            self._settle(store, ids)
        return len(ids)

    def _judge(self, learning: Learning, verdict: Verdict) -> Learning:
        with open_learning_store(self._home.home) as store, store.transaction():
            store.add_verdict(learning.id, verdict)
            self._settle(store, (learning.id,))
        return self._kept(learning.id)

    def _settle(self, store: LearningStore, ids: Collection[str]) -> None:
        """Recompute learnings, and compare the rest of their repositories, in the same transaction."""
        from recollect.ingest.learnings.keep import Keeping, rules_now

        keeping = Keeping(store, partial(rules_now, self._home.config, self._now_us), None)
        keeping.settle(ids)
        for repo in sorted({known.kept.repo for known in store.known(ids) if known.kept is not None}):
            keeping.relate(repo)

    def _written(self, new: NewLearning, now: int) -> Learning:
        text = self._clean(" ".join(new.text.split()))
        if not text:
            raise UsageError("a learning needs text")
        if len(text) > LONGEST_TEXT:
            raise UsageError(f"a learning has at most {LONGEST_TEXT} characters; this has {len(text):,}")
        scope = "path" if new.path else new.scope
        if scope != "user" and not new.repo:
            raise UsageError("a learning of a repository needs its name", hint="name it, or say that it holds anywhere")
        repo, path = ("", "") if scope == "user" else (new.repo, new.path)
        features = {WRITTEN_DOWN: 0.99}
        return Learning(
            id=learning_id(new.kind, scope, repo, path, text), kind=new.kind, text=text, scope=scope, repo=repo,
            path=path, status="observed", features=features, confidence=confidence_of(features), valid_from=now,
            recorded_at=now, extractor=PERSON, priority=new.priority, expires_at=new.expires_at,
        )  # fmt: skip

    def _kept(self, learning_id: str) -> Learning:
        with closing(LearningReader(self._home.home)) as reader:
            found = reader.learning(learning_id)
        if found is None:
            raise BrokenInvariant(f"the learning {learning_id} was written and is not there")
        return found

    def _clean(self, text: str) -> str:
        return self._home.redacted(text.strip())


def _is_retired(known: Known) -> bool:
    return bool(known.verdicts) and known.verdicts[-1].verdict == "retire"


USER_FILE_NOTE = "user_file"
"""Under which is kept what was written, see `store.learnings.LearningStore.note`."""
MAX_BYTES = 1 << 20
"""A larger file is not one that somebody keeps for agents; it is left alone."""
_TRIES = 5
_decode = msgspec.json.Decoder(Written).decode


class UserFileReport(msgspec.Struct, frozen=True):
    """What became of `user.md`. state: absent (nobody made one, see `recollect context init`), unmarked (its region is
    gone), unreadable (no text, or too large), unchanged, written. removed: learnings whose line somebody took out."""

    state: Literal["absent", "unmarked", "unreadable", "unchanged", "written"]
    path: str
    lines: int = 0
    removed: tuple[str, ...] = ()


def written_before(note: bytes, path: str) -> Written:
    """Return what was last written to this file; nothing if it was another file."""
    with contextlib.suppress(msgspec.MsgspecError):
        found = _decode(note) if note else Written()
        return found if found.path == path else Written()
    return Written()


def find_removed(path: Path, written: Written) -> list[str]:
    """Return the ids of learnings whose lines somebody took out since. Raises StoreError."""
    text = _read_text(path)
    region = find_region(text) if text is not None else None
    return removed_by_hand(region, written) if region is not None else []


def write_user_file(
    path: Path, learnings: Sequence[Learning], written: Written, *, before_replacing: Callable[[], None] = lambda: None
) -> tuple[UserFileReport, Written]:
    """Write the user's preferences to the region of a file; return the result and the written text.

    A file that changes meanwhile is read again. before_replacing: called when the new text is on disk but not yet in
    place. Raises StoreError.
    """
    ours = {line_of(one): one.id for one in preferences_for(learnings)}
    for _ in range(_TRIES):
        text = _read_text(path)
        if text is None:
            state: Literal["absent", "unreadable"] = "unreadable" if path.exists() else "absent"
            return UserFileReport(state, str(path)), written
        region = find_region(text)
        if region is None:
            return UserFileReport("unmarked", str(path)), written
        new = render(text, list(ours), own=own_lines(region, written.lines, list(ours)))
        now = find_region(new)
        states = (*written.states, state_of(now.lines if now is not None else ()))
        noted = Written(str(path), ours, tuple(dict.fromkeys(states))[-KEPT_STATES:])
        if new == text:
            return UserFileReport("unchanged", str(path), len(ours)), noted
        if _replace(path, text, new, before_replacing):
            return UserFileReport("written", str(path), len(ours)), noted
    raise StoreError(f"{path} keeps changing; your preferences were not written to it")


def _read_text(path: Path) -> str | None:
    """Return a file's text, with undecodable bytes kept; None if it does not exist, is no file, or is too large."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error


class _ChangedMeanwhileError(Exception):
    """The file is not as it was read."""


def _replace(path: Path, old: str, new: str, before_replacing: Callable[[], None]) -> bool:
    """Put a text in place of another one, unless that is another by now; tell whether it was."""

    def check() -> None:
        before_replacing()
        if _read_text(path) != old:
            raise _ChangedMeanwhileError

    try:
        write_file(path, new.encode("utf-8", "surrogateescape"), durable=True, mode=None, before_replace=check)
    except _ChangedMeanwhileError:
        return False
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
    return True
