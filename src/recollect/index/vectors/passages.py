"""Makes the vectors of passages that are missing: what was said in the newest sessions first, then what tools were
given and gave, then what changed meanwhile.

Never part of ingest. It can be killed anywhere: each session is noted when it is done, and the next run goes on there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from recollect.errors import StoreLocked
from recollect.index.vectors.embed import EmbedProgress, EmbedReport
from recollect.index.vectors.texts import KINDS as TALK
from recollect.index.vectors.texts import passages_of
from recollect.index.vectors.vector_index import VectorCoverage, ranges_of
from recollect.model.payloads import Payload
from recollect.model.text import TextClass, searchable
from recollect.store.change_feed import KeyRange, TextFeed
from recollect.store.passages import PassageStore, hash_of
from recollect.store.row_keys import merged, span_of

if TYPE_CHECKING:
    from recollect.index.vectors.contextual import ContextualModel


CONSUMER = "passages"
TOOLS = ("tool_call", "tool_result", "file_edit")
STAGES: tuple[tuple[str, ...], ...] = (TALK, TOOLS)
"""Kinds of events, in the order in which all sessions get their vectors."""
_BATCH = 16
"""Texts between two looks at whether to stop: at most half a second of work."""


class PassageBuild:
    """One run over a home's texts. The caller holds the lock of who makes vectors."""

    def __init__(
        self, feed: TextFeed, store: PassageStore, model: ContextualModel, report: EmbedReport, *,
        should_stop: Callable[[], bool], progress: EmbedProgress | None = None,
    ) -> None:  # fmt: skip
        """report: what is done is added to."""
        self._feed = feed
        self._store = store
        self._model = model
        self._report = report
        self._should_stop = should_stop
        self._progress = progress
        self._to_do = 0

    def run(self) -> bool:
        """Embed until nothing is missing; False when told to stop earlier.

        Raises EmbeddingUnavailable, IndexUnavailable, StoreError; what was noted by then stays.
        """
        is_done = self._run()
        if not self._store.is_talk_complete():
            from recollect.index.vectors.nearest_messages import write_talk

            write_talk(self._store, self._store.folder)
        return is_done

    def _run(self) -> bool:
        if self._store.position is None:
            # What changes from here on is in the log, which keeps it once it knows that somebody waits for it.
            self._advance(self._feed.last_change())
        self._to_do = self._feed.count_of_kinds((*TALK, *TOOLS), self._missing())
        for stage, kinds in enumerate(STAGES, 1):
            done = self._store.stages()
            for number in self._feed.sessions_newest_first():
                if done.get(number, 0) >= stage:
                    continue
                if not (self._follow() and self._embed(kinds, [span_of(number)])):
                    return False
                self._store.note_stage(number, stage)
        return self._follow()

    def _missing(self) -> list[KeyRange]:
        done = self._store.stages()
        return [span_of(n) for n in self._feed.sessions_newest_first() if done.get(n, 0) < len(STAGES)]

    def _follow(self) -> bool:
        """Take what changed since the last look; False when it should stop."""
        has_retired = False
        while changes := self._feed.changes_since(self._store.position or 0):
            ranges = merged(ranges_of(changes))
            self._store.retire(ranges)
            has_retired = True
            if not self._embed((*TALK, *TOOLS), ranges):
                return False
            self._advance(changes[-1].id)
        if has_retired:
            self._store.sweep()
        return True

    def _advance(self, position: int) -> None:
        self._store.note_position(position)
        with suppress(StoreLocked):  # told at the next step: the position that counts is in our own file
            self._feed.acknowledge(CONSUMER, position, derivation_id=self._feed.derivation_id())

    def _embed(self, kinds: Iterable[str], ranges: list[KeyRange]) -> bool:
        """Give the events of these ranges their vectors; False when it should stop before all have them."""
        texts: dict[int, str] = {}
        events: dict[int, list[int]] = {}
        talk: set[int] = set()
        for event in self._feed.events_of_kinds(kinds, ranges):
            self._report.events += 1
            text_class, pieces = texts_of(event.payload)
            if pieces:
                events[event.key] = [hash_of(piece) for piece in pieces]
                talk.update([event.key] if text_class == "talk" else [])
                texts |= zip(events[event.key], pieces, strict=True)
            if len(texts) >= _BATCH:
                self._write(texts, events, talk)
                texts, events = {}, {}
                talk.clear()
                if self._should_stop():
                    return False
        self._write(texts, events, talk)
        return True

    def _write(self, texts: dict[int, str], events: dict[int, list[int]], talk: set[int]) -> None:
        if not events:
            return
        known = self._store.codes(texts)
        new = [one for one in texts if one not in known]
        from recollect.index.vectors.nearest_messages import encode

        codes = encode(self._model.embed([texts[one] for one in new])) if new else []
        self._store.add(dict(zip(new, codes, strict=True)), events, talk)
        self._report.chunks += len(new)
        self._report.chars += sum(len(texts[one]) for one in new)
        if self._progress is not None:
            self._progress(self._report.events, max(self._to_do, self._report.events))


def texts_of(payload: Payload) -> tuple[TextClass, list[str]]:
    """Return the class of what an event says, and its passages."""
    text_class, text, _paths = searchable(payload)
    return text_class, [text[piece.start : piece.end].strip() for piece in passages_of(text_class, text)]


def coverage_of(feed: TextFeed, store: PassageStore) -> VectorCoverage:
    """Return how many sessions are read to their end, of how many, and whether something is to be made: a session that
    was never done, or what changed since."""
    position, done = store.position, store.stages()
    numbers = list(feed.sessions_newest_first())
    covered = sum(done.get(number, 0) >= len(STAGES) for number in numbers)
    is_behind = position is None or not store.is_talk_complete() or bool(feed.changes_since(position, limit=1))
    return VectorCoverage(covered, len(numbers), is_behind or covered < len(numbers))
