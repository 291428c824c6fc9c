"""Fills batches for a team's server and sends them in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
import zstandard

from recollect.endpoints.team_client import TeamClient
from recollect.errors import TeamRefused
from recollect.model.team_messages import Batch, EventSpan, Level, SharedEvent, SharedLearning, SharedSession
from recollect.visible import safe_json

PLAIN_BYTES = 3 * 1024 * 1024
"""Of a batch before it is compressed, so that it keeps to its limit whatever it holds."""


class Outbox:
    """Fills batches and sends them in order. What belongs to one session may take several."""

    def __init__(
        self, client: TeamClient, show: Callable[[bytes], None] | None, number: int, derivation_id: str, model: str
    ) -> None:
        """model: of the vectors of events."""
        self.batches = 0
        self.events = 0
        self.sent_bytes = 0
        self._client = client
        self._show = show
        self._number = number
        self._derivation_id = derivation_id
        self._model = model
        self._row: SharedSession | None = None
        self._rows: list[SharedSession] = []
        self._spans: list[EventSpan] = []
        self._learnings: list[SharedLearning] = []
        self._plain = 0

    def begin(
        self, shares: dict[str, Level], gone: tuple[str, ...], retired: tuple[str, ...], *, restarts: bool,
        position: int | None,
    ) -> None:  # fmt: skip
        """Say first what is shared and what is not any more."""
        self._send(self._batch(shares=shares, withdrawn=gone, retired=retired, restarts=restarts, position=position))

    def open(self, row: SharedSession) -> None:
        """Begin with a session."""
        self._row = row
        self._plain += len(msgspec.json.encode(row))

    def put(self, uid: str, first: int, last: int, events: Iterable[SharedEvent]) -> None:
        """Add a span of the session, cut where a batch is full."""
        gathered: list[SharedEvent] = []
        for event in events:
            size = len(msgspec.json.encode(event))
            if self._plain + size > PLAIN_BYTES and (gathered or self._spans or self._rows):
                if gathered:
                    self._spans.append(EventSpan(uid, first, gathered[-1].seq, tuple(gathered)))
                    first, gathered = gathered[-1].seq + 1, []
                self._flush_open()
            gathered.append(event)
            self._plain += size
            self.events += 1
        self._spans.append(EventSpan(uid, first, last, tuple(gathered)))

    def close(self) -> None:
        """End the session: with this batch the server has it whole."""
        assert self._row is not None
        self._rows.append(msgspec.structs.replace(self._row, is_last=True))
        self._row = None
        if self._plain > PLAIN_BYTES:
            self.flush()

    def learn(self, learning: SharedLearning) -> None:
        """Add what was learned."""
        self._learnings.append(learning)
        self._plain += len(msgspec.json.encode(learning))
        if self._plain > PLAIN_BYTES:
            self.flush()

    def flush(self, *, position: int | None = None) -> None:
        """Send what was gathered. position: how far the server is with it."""
        if self._rows or self._spans or self._learnings or position is not None:
            batch = self._batch(position=position)
            self._rows, self._spans, self._learnings, self._plain = [], [], [], 0
            self._send(batch)

    def _flush_open(self) -> None:
        assert self._row is not None
        self._rows.append(self._row)
        self.flush()
        self._plain = len(msgspec.json.encode(self._row))

    def _batch(
        self, *, shares: dict[str, Level] | None = None, withdrawn: tuple[str, ...] = (),
        retired: tuple[str, ...] = (), restarts: bool = False, position: int | None = None,
    ) -> Batch:  # fmt: skip
        return Batch(
            number=self._number + 1, derivation_id=self._derivation_id, position=position, restarts=restarts,
            shares=shares, withdrawn=withdrawn, sessions=tuple(self._rows), spans=tuple(self._spans), retired=retired,
            learnings=tuple(self._learnings), model=self._model if self._spans else "",
        )  # fmt: skip

    def _send(self, batch: Batch) -> None:
        plain = safe_json(msgspec.json.encode(batch))
        self.batches += 1
        self._number += 1
        if self._show is not None:
            self._show(plain)
            return
        body = zstandard.ZstdCompressor(level=6).compress(plain)
        taken = self._client.send(body)
        if taken.number != batch.number:
            raise TeamRefused(
                f"the server is at batch {taken.number}, not {batch.number}: another copy of this memory pushes too",
                hint="push again; have each copy join by itself",
            )
        self.sent_bytes += len(body)
