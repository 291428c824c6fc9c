"""Parses one file without a home, for `recollect parse` and `Memory.parse`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from recollect.agents.base import Adapter
from recollect.agents.guard import raised_by
from recollect.agents.registry import adapter as find_adapter
from recollect.agents.registry import adapters_with
from recollect.capture.replay import ReplayBatch, replay
from recollect.capture.sources import SourceFile, open_source
from recollect.config import PrivacyConfig
from recollect.errors import SourceRefused
from recollect.ingest.worker.derive import Deriver, Resume, hashes_of
from recollect.model.events import Event, Role, SourceLocation, TsQuality
from recollect.model.ids import record_event_id, session_uid, source_id
from recollect.model.marker import replaced_by_markers
from recollect.model.payloads import KINDS
from recollect.model.records import ZSTD_SUFFIXES, Defect, SourceInfo
from recollect.model.text import summary_of
from recollect.privacy.redact import STRANGERS_KEY, Redactor, redactor_of
from recollect.store.bodies import BlockEntry, decode_block, hydrate
from recollect.store.row_keys import FLAG_SIDECHAIN
from recollect.store.rows import EventDraft, RecordPlace
from recollect.visible import hide

SHIPPED = PrivacyConfig()
"""What is looked for where no configuration says more."""
_PIECE_BYTES = 4 * 1024 * 1024
_HEAD_BYTES = 64 * 1024
_ROLES: tuple[Role, ...] = ("user", "assistant", "tool", "system")
_QUALITIES: tuple[TsQuality, ...] = ("exact", "inferred", "missing")


def recognise(path: Path, head: bytes, known: Mapping[str, Adapter]) -> tuple[Adapter, str]:
    """Return the adapter and role that a file's content tells. Raises SourceRefused."""
    for adapter in known.values():
        role = adapter.recognise(path.name, head)
        if role is not None:
            return adapter, role
    raised = [f"; {slug}: {said}, please report this" for slug, adapter in known.items() for said in raised_by(adapter)]
    raise SourceRefused(
        f"{path} does not look like a transcript of a known agent{''.join(raised)}",
        reason="not recognised",
        hint="name the agent that wrote it with --as; `recollect agents` lists them",
    )


class Recognised(NamedTuple):
    """Which agent wrote a file, in which of its forms, and how that was told."""

    adapter: Adapter
    role: str
    is_told_by_content: bool

    @property
    def container(self) -> str:
        """The way the file is written, see `model.capabilities.Container`."""
        places = self.adapter.facts.places
        return next((p.container_name for p in places if p.role == self.role), "jsonl")


def recognise_file(path: Path, head: bytes, *, agent: str | None, known: Mapping[str, Adapter]) -> Recognised:
    """Return whose a file is. agent None: the content decides. Raises UnknownName, SourceRefused."""
    if agent is None:
        return Recognised(*recognise(path, head, known), True)
    chosen = find_adapter(agent, known)
    return Recognised(chosen, chosen.recognise(path.name, head) or chosen.facts.places[0].role, False)


def parse_file(
    path: Path, *, agent: str | None = None, formats: Mapping[str, Mapping[str, Any]] | None = None,
    privacy: PrivacyConfig | None = SHIPPED, told: Callable[[Recognised], None] | None = None,
) -> Iterator[Event]:  # fmt: skip
    """Yield the events of one file in order, with seq from 0 for each session.

    agent None: recognise it by content. formats: of configured agents (`Config.formats`). privacy None: keep secrets;
    no surface offers that. told: called with the agent. Raises UnknownName, SourceUnavailable, SourceRefused.
    """
    with open_source(str(path), is_compressed=path.name.endswith(ZSTD_SUFFIXES)) as source:
        head = source.read_at(0, _HEAD_BYTES)
        found = recognise_file(path, head, agent=agent, known=adapters_with(formats or {}))
        if told is not None:
            told(found)
        parser = FileParser(found, path.name, head, privacy)
        for batch in replay(_pieces(source), found.container):
            yield from parser.take(batch)


@contextmanager
def pieces_of(path: Path, size: int = _PIECE_BYTES, *, start: int = 0) -> Iterator[Iterator[bytes]]:
    """Yield the bytes of a file from `start` on, in pieces of at most `size`.

    Raises SourceUnavailable, SourceRefused.
    """
    with open_source(str(path), is_compressed=path.name.endswith(ZSTD_SUFFIXES)) as source:
        yield _pieces(source, size, start)


def _pieces(source: SourceFile, size: int = _PIECE_BYTES, offset: int = 0) -> Iterator[bytes]:
    while piece := source.read_at(offset, size):
        offset += len(piece)
        yield piece


class FileParser:
    """Turns the records of one file into events, batch by batch, and numbers them as the store would."""

    def __init__(self, found: Recognised, name: str, head: bytes, privacy: PrivacyConfig | None = SHIPPED) -> None:
        """name, head: of the file; they say its session where its records do not. privacy None: nothing is redacted."""
        self._adapter = found.adapter
        info = SourceInfo(found.adapter.facts.slug, found.role, name)
        self._info = msgspec.structs.replace(info, session=found.adapter.identify(info, head))
        self._redactor = Redactor(STRANGERS_KEY, ()) if privacy is None else redactor_of(STRANGERS_KEY, privacy)
        self._seq: Counter[str] = Counter()
        self._seen: Counter[bytes] = Counter()
        self._source_id = source_id(self._info.agent, self._adapter.source_key(self._info), 0)
        self._state = self._adapter.begin(self._info)
        self._turn = 0
        self.records = 0
        """How many records were taken."""
        self.defects: list[Defect] = []
        self.replaced: dict[tuple[str, str, int], str] = {}
        """The events that a later one stands for, by (session, event id, part), and the id of that one."""

    def take(self, batch: ReplayBatch) -> Iterator[Event]:
        """Yield the events of the next batch."""
        deriver = Deriver(
            self._adapter, self._info, self._redactor, Resume(self._state, self._turn), documents=False
        )  # fmt: skip
        if batch.giant is not None:
            g = batch.giant
            deriver.add_giant(g.head, offset=g.start, length=g.end - g.start, index=self.records, sha256=g.sha256)
        else:
            deriver.add_lines(
                batch.lines, hashes_of(batch.lines), base=batch.base, first_index=self.records, data=batch.data
            )
        derived = deriver.finish()
        self._state, self._turn = derived.state, derived.turn
        self.defects += derived.defects
        self.records += len(derived.records)
        occurrences: dict[int, int] = {}
        for i, place in enumerate(derived.records):
            occurrences[i] = self._seen[place.sha256]
            self._seen[place.sha256] += 1
        for part in derived.sessions:
            entries = decode_block(part.block)
            for draft in part.events:
                place = derived.records[draft.record]
                raw = batch.lines[draft.record].raw if batch.giant is None else b""
                event_id = draft.event_id or record_event_id(part.native_id, place.sha256, occurrences[draft.record])
                if draft.replaces is not None:
                    self.replaced[session_uid(self._info.agent, part.native_id), *draft.replaces] = event_id
                yield self._event(part.native_id, draft, place, entries[draft.body], event_id, raw)

    def _event(
        self, native_id: str, draft: EventDraft, place: RecordPlace, entry: BlockEntry, event_id: str, raw: bytes
    ) -> Event:
        uid = session_uid(self._info.agent, native_id)
        payload = hydrate(entry.body, partial(bytes, raw), self._redact)
        seq = self._seq[uid]
        if not seq:
            hide(replaced_by_markers(uid, self._redact(uid)))
        self._seq[uid] += 1
        return Event(
            session_uid=uid,
            seq=seq,
            event_id=event_id,
            part=draft.part,
            kind=KINDS[draft.kind],
            payload=payload,
            location=SourceLocation(self._source_id, 1, place.offset, place.length, place.index, place.sha256.hex()),
            parent_id=draft.parent_id,
            ts=draft.ts,
            ts_quality=_QUALITIES[draft.ts_quality],
            role=_ROLES[draft.role],
            turn_index=draft.turn,
            is_sidechain=bool(draft.flags & FLAG_SIDECHAIN),
            summary=entry.summary or summary_of(payload),
        )

    def _redact(self, text: str) -> str:
        return self._redactor.redact_text(text)[0]
