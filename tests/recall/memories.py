"""A memory of a few sessions: an index in a temporary folder and a store of plain dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from recollect.index.text.document_builder import DocumentBuilder
from recollect.index.text.shards import TextIndex
from recollect.index.text.writer import IndexWriterSet
from recollect.model.text import TextClass
from recollect.model.time import parse_iso
from recollect.recall.answers import SearchAnswer
from recollect.recall.search import Searcher
from recollect.store.rows import EventFilter, HitText, IndexDoc, SessionKey

NOW_US = parse_iso("2026-08-12T10:00:00Z") or 0

_CLASSES: dict[str, TextClass] = {
    "user_message": "talk",
    "assistant_message": "talk",
    "thinking": "thinking",
    "tool_call": "tool_input",
    "tool_result": "tool_output",
    "instructions": "instructions",
}


class MemoryOfTests:
    """Sessions by number; `say` adds an event, `ask` searches. Also the store that search asks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hidden: set[int] = set()
        self.closers: set[int] = set()
        self._sessions: dict[int, SessionKey] = {}
        self._texts: dict[int, HitText] = {}
        self._months: dict[int, str] = {}
        self._writers = IndexWriterSet.open(folder)

    def session(self, number: int, *, agent: str = "claude", root: int | None = None, month: str = "2026-08") -> int:
        uid = f"{agent}:{number}"
        root_uid = uid if root is None else self._sessions[root].session_uid
        self._sessions[number] = SessionKey(number, uid, root_uid, agent, 0, root is not None, None, None)
        self._months[number] = month
        return number

    def say(
        self, session: int, text: str, *, kind: str = "user_message", at: str = "", tool: str = "", path: str = ""
    ) -> int:
        """Add an event; return its key. at: an ISO time."""
        known = self._sessions[session]
        seq = known.event_count
        self._sessions[session] = known._replace(event_count=seq + 1)
        key = session << 24 | seq
        ts = parse_iso(at) if at else None
        builder = DocumentBuilder()
        builder.add(_CLASSES[kind], text, (path,) if path else (), kind=kind, tool=tool, ts=ts)
        self._writers.add(IndexDoc(key, session, self._months[session], json) for json in builder.finish()[0])
        self._texts[key] = HitText(f"e{key}", 0, seq, kind, ts, known.session_uid, tool, text[:60], text[:65536], False)
        return key

    def ask(self, query: str, limit: int = 10) -> SearchAnswer:
        self._writers.commit()
        return Searcher(TextIndex.open(self.folder), self).search(query, limit=limit, now_us=NOW_US)

    def hit_texts(self) -> MemoryOfTests:
        return self

    def following(self, keys: Sequence[int]) -> Mapping[int, Mapping[int, HitText]]:
        return {}

    def related(self, keys: Sequence[int]) -> Mapping[int, Mapping[str, HitText]]:
        return {}

    def session_keys(self, numbers: Sequence[int]) -> Mapping[int, SessionKey]:
        return {n: self._sessions[n] for n in numbers if n in self._sessions}

    def session_numbers(self, where: EventFilter) -> frozenset[int]:
        return frozenset(
            n
            for n, s in self._sessions.items()
            if (not where.agents or s.agent in where.agents)
            and (not where.sessions or any(s.session_uid.startswith(w) for w in where.sessions))
            and (where.is_subagent is None or s.is_subagent == where.is_subagent)
        )

    def texts(self, keys: Sequence[int], *, with_closing: bool = False) -> Mapping[int, HitText]:
        """Return texts in order of key, as the store does."""
        return {
            k: self._texts[k]._replace(is_hidden=k in self.hidden, is_closing=k in self.closers)
            for k in sorted(keys)
            if k in self._texts
        }
