"""Events of one file, without a home: what `recollect parse` and `Memory.parse` give."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from recollect.agents.base import Adapter
from recollect.agents.registry import adapter as find_adapter
from recollect.agents.registry import adapters_with
from recollect.capture.files import SourceFile, open_source
from recollect.capture.replay import Batch, replay
from recollect.errors import SourceRefused
from recollect.model.events import Event, Role, SourceLocation, TsQuality
from recollect.model.ids import record_event_id, session_uid, source_id
from recollect.model.payloads import KINDS, Payload
from recollect.model.records import ZSTD_SUFFIXES, SourceInfo
from recollect.model.text import summary_of
from recollect.pipeline.work.derive import Deriver, Resume, hashes_of
from recollect.privacy.redact import Redactor
from recollect.store.blocks import decode_block
from recollect.store.bodies import hydrate
from recollect.store.ports import FLAG_SIDECHAIN

_PIECE_BYTES = 4 * 1024 * 1024
_HEAD_BYTES = 64 * 1024
_ROLES: tuple[Role, ...] = ("user", "assistant", "tool", "system")
_QUALITIES: tuple[TsQuality, ...] = ("exact", "inferred", "missing")
_decode_payload = msgspec.json.Decoder(Payload).decode


def recognise(path: Path, head: bytes, known: Mapping[str, Adapter]) -> tuple[Adapter, str]:
    """Return the adapter and role that a file's content tells. Raises SourceRefused."""
    for adapter in known.values():
        role = adapter.recognise(path.name, head)
        if role is not None:
            return adapter, role
    raise SourceRefused(
        f"{path} looks like no transcript of a known agent",
        reason="not recognised",
        hint="name the agent that wrote it with --as; `recollect agents` lists them",
    )


def parse_file(
    path: Path, *, agent: str | None = None, formats: Mapping[str, Mapping[str, Any]] | None = None
) -> Iterator[Event]:
    """Yield the redacted events of one file in order, with seq from 0 for each session.

    agent None: the content decides. formats: of the agents that a configuration describes (`Config.formats`).
    Raises UnknownName, SourceUnavailable, SourceRefused.
    """
    known = adapters_with(formats or {})
    with open_source(str(path), is_compressed=path.name.endswith(ZSTD_SUFFIXES)) as source:
        head = source.read_at(0, _HEAD_BYTES)
        if agent is None:
            chosen, role = recognise(path, head, known)
        else:
            chosen = find_adapter(agent, known)
            role = chosen.recognise(path.name, head) or chosen.facts.places[0].role
        container = next((p.container_name for p in chosen.facts.places if p.role == role), "jsonl")
        info = SourceInfo(chosen.facts.slug, role, path.name)
        info = msgspec.structs.replace(info, session=chosen.identify(info, head))
        yield from _Parser(chosen, info).events(replay(_pieces(source), container))


def _pieces(source: SourceFile) -> Iterator[bytes]:
    offset = 0
    while piece := source.read_at(offset, _PIECE_BYTES):
        offset += len(piece)
        yield piece


class _Parser:
    """Numbers what a deriver gives, as the store would."""

    def __init__(self, adapter: Adapter, info: SourceInfo) -> None:
        self._adapter = adapter
        self._info = info
        self._redactor = Redactor(hashlib.sha256(b"recollect parse").digest())
        self._seq: Counter[str] = Counter()
        self._seen: Counter[bytes] = Counter()
        self._source_id = source_id(info.agent, adapter.source_key(info), 0)

    def events(self, batches: Iterator[Batch]) -> Iterator[Event]:
        """Yield the events of all batches."""
        state = self._adapter.begin(self._info)
        turn = index = 0
        for batch in batches:
            deriver = Deriver(self._adapter, self._info, self._redactor, Resume(state, turn), documents=False)
            if batch.giant is not None:
                g = batch.giant
                deriver.add_giant(g.head, offset=g.start, length=g.end - g.start, index=index, sha256=g.sha256)
            else:
                deriver.add_lines(
                    batch.lines, hashes_of(batch.lines), base=batch.base, first_index=index, data=batch.data
                )
            derived = deriver.finish()
            state, turn = derived.state, derived.turn
            occurrences: dict[int, int] = {}
            for i, place in enumerate(derived.records):
                occurrences[i] = self._seen[place.sha256]
                self._seen[place.sha256] += 1
            for part in derived.sessions:
                uid = session_uid(self._info.agent, part.native_id)
                entries = decode_block(part.block)
                for draft in part.events:
                    place = derived.records[draft.record]
                    raw = b""
                    if batch.giant is None:
                        raw = batch.lines[draft.record].raw
                    entry = entries[draft.body]
                    payload = hydrate(entry.body, partial(bytes, raw), self._redact)
                    event_id = draft.event_id or record_event_id(
                        part.native_id, place.sha256, occurrences[draft.record]
                    )
                    yield Event(
                        session_uid=uid,
                        seq=self._seq[uid],
                        event_id=event_id,
                        part=draft.part,
                        kind=KINDS[draft.kind],
                        payload=payload,
                        location=SourceLocation(
                            self._source_id, 1, place.offset, place.length, place.index, place.sha256.hex()
                        ),
                        parent_id=draft.parent_id,
                        ts=draft.ts,
                        ts_quality=_QUALITIES[draft.ts_quality],
                        role=_ROLES[draft.role],
                        turn_index=draft.turn,
                        is_sidechain=bool(draft.flags & FLAG_SIDECHAIN),
                        summary=entry.summary or summary_of(payload),
                    )
                    self._seq[uid] += 1
            index += len(derived.records)

    def _redact(self, text: str) -> str:
        return self._redactor.redact_text(text)[0]
