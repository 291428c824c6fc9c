"""Checks that every node cites its source and that the archive still has the cited bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from recollect.archive.archive import Archive
from recollect.archive.packs import ChunkPlace
from recollect.errors import ArchiveError, RawGone
from recollect.model.events import SourceLocation
from recollect.model.insights.nodes import Decision, Node, locations_of
from recollect.model.records import LedgerDefect
from recollect.store.reader import Reader

MAX_DEFECTS = 2000
_KEPT = 64
_GONE = "its record was taken away on purpose"
_SHORT_HEX = 16
"""Digits of the beginning of a hash; less proves nothing."""


class ProvenanceCheck:
    """Checks nodes one after the other; those of a session together are the cheapest."""

    def __init__(self, reader: Reader, archive: Archive) -> None:
        self._reader = reader
        self._archive = archive
        self._places: dict[tuple[str, int], list[ChunkPlace]] = {}
        self._known: tuple[str, dict[SourceLocation, str]] = ("", {})
        self.nodes = 0
        self.nodes_without_raw = 0
        """Nodes of whose evidence some was evicted or forgotten: what they say stays."""
        self.defects: list[LedgerDefect] = []

    def take(self, nodes: Iterable[Node]) -> None:
        """Check nodes; what does not resolve is in `defects`."""
        for node in nodes:
            self.nodes += 1
            if self._known[0] != node.session_uid:
                self._known = (node.session_uid, {})
            found = [(location, self._why_not(node, location)) for location in dict.fromkeys(locations_of(node))]
            self.nodes_without_raw += any(why == _GONE for _, why in found)
            for location, why in found:
                if why and why != _GONE and len(self.defects) < MAX_DEFECTS:
                    self.defects.append(
                        LedgerDefect(
                            "node_without_evidence", f"{node.id}: {why}", location.source_id, "", location.revision,
                            location.record_index, location.offset_bytes, is_loss=True,
                        )
                    )  # fmt: skip

    def _why_not(self, node: Node, at: SourceLocation) -> str:
        """Return why a location does not resolve to the bytes that its hash names; "" where it does."""
        if isinstance(node, Decision) and node.origin == "added" and at == node.location:
            written = node.statement.encode("utf-8", "replace")
            return "" if hashlib.sha256(written).hexdigest() == at.record_sha256 else "its statement is another one"
        known = self._known[1].get(at)
        if known is None:
            known = self._known[1][at] = self._resolve(at)
        return known

    def _resolve(self, at: SourceLocation) -> str:
        try:
            record = self._read(at)
        except RawGone:
            return _GONE
        except ArchiveError as error:
            return f"its record cannot be read: {error}"
        if len(at.record_sha256) < _SHORT_HEX or not hashlib.sha256(record).hexdigest().startswith(at.record_sha256):
            return "its record is not the bytes it was"
        return ""

    def _read(self, at: SourceLocation) -> bytes:
        places = self._chunks(at)
        try:
            return self._archive.read_range(places, at.offset_bytes, at.length_bytes)
        except ArchiveError:
            self._places.pop((at.source_id, at.revision), None)
            if self._chunks(at) == places:
                raise
            return self._archive.read_range(self._chunks(at), at.offset_bytes, at.length_bytes)  # it was moved

    def _chunks(self, at: SourceLocation) -> list[ChunkPlace]:
        key = (at.source_id, at.revision)
        found = self._places.get(key)
        if found is None:
            if len(self._places) >= _KEPT:
                self._places.clear()
            found = self._places[key] = [place for place, _ in self._reader.chunks(*key)]
        return found
