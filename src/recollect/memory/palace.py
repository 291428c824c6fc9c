"""`memory.notes.palace`: imports a MemPalace directory: documents, diaries, and facts from its knowledge graph.

What is taken is named by what it was there, so that a second run adds nothing, and a run that was killed goes on. Each
run that adds something is one batch.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import datetime
from functools import cached_property
from hashlib import blake2b
from pathlib import Path, PureWindowsPath
from typing import NamedTuple, TypeVar

import msgspec

from recollect.agent_names import OWN
from recollect.archive.keys import HomeKeys, load_or_create_keys
from recollect.capture.document_text import cut
from recollect.capture.mempalace import Kept, Triple, find_palace, read_kept, read_triples
from recollect.erasure.tombstones import Forgotten
from recollect.errors import SourceError, UsageError
from recollect.insights.notes.diary import NewEntry, checked_entry, made_entry
from recollect.insights.notes.facts import NewFact, add_fact, end_fact
from recollect.memory.diary import Noting, NotingFacet
from recollect.model.ids import session_uid
from recollect.model.learnings.entries import EntryDraft
from recollect.model.learnings.notes import Batch, DiaryEntry, Fact
from recollect.model.time import parse_iso
from recollect.privacy.redact import detectors_in_force
from recollect.store.documents import (
    Collection,
    StoredDocument,
    document_uid,
    has_collection,
    is_kept_out,
    path_mark,
    save_collection,
    save_documents,
    sessions_named,
    taken_as,
)
from recollect.store.erasure.forget_rows import read_tombstones
from recollect.store.home import make_home
from recollect.store.notes import FactQuestion, NoteReader, NoteWriter, new_batch

PREFIX = "mempalace-"
"""Of the collections: one a wing."""
REFERENCE = "mempalace:"
"""Before the id of a triple, as the reference of its fact."""
RULES_VERSION = "2"
"""Of joining and cutting texts. With another one, and with other detectors of secrets, they are taken again."""
_MOST_AT_ONCE = 100
_MOST_CHARS_AT_ONCE = 1_000_000
_MAX_TEXT_CHARS = 16_000_000
_UUID_AT_END = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
_Item = TypeVar("_Item")


class PalaceReport(msgspec.Struct, omit_defaults=True):
    """What an import of a palace did, or would do. Counts of this run: `taken` is new or changed, `known` was there.

    drawers: how many pieces the texts were kept in. documents_linked: of the documents taken, those that are other
    records of a session that the memory has from its agent. facts_ended: facts that the palace has ended since. again:
    of what was taken, how much an undo had retired. wings: texts found, by wing. skipped: by reason. batch: "" where
    nothing was added.
    """

    folder: str
    is_dry_run: bool = False
    batch: str = ""
    drawers: int = 0
    documents_taken: int = 0
    documents_known: int = 0
    documents_linked: int = 0
    diary_taken: int = 0
    diary_known: int = 0
    facts_taken: int = 0
    facts_known: int = 0
    facts_ended: int = 0
    again: int = 0
    wings: dict[str, int] = {}
    skipped: dict[str, int] = {}
    notes: list[str] = []

    @property
    def added(self) -> int:
        """How many were imported."""
        return self.documents_taken + self.diary_taken + self.facts_taken

    @property
    def known(self) -> int:
        """How many existed already."""
        return self.documents_known + self.diary_known + self.facts_known + self.facts_ended


class PalaceFacet(NotingFacet):
    """Imports MemPalace directories into one memory."""

    def is_palace(self, folder: Path) -> bool:
        """Return whether a folder is a MemPalace directory with texts; other programs use the same file names."""
        try:
            for path in find_palace(folder).drawers:
                with closing(read_kept(path)) as texts:
                    if next(texts, None) is not None:
                        return True
        except SourceError:
            return False
        return False

    def take(
        self, folder: Path, *, is_dry_run: bool = False, told: Callable[[PalaceReport], None] | None = None
    ) -> PalaceReport:
        """Import a palace, redacted. told: called with the growing report after each transaction.

        Opens the palace read-only. A dry run writes nothing. Raises SourceError for a folder that is no palace or
        unreadable (earlier transactions stay, and the next run continues), StoreError and subclasses.
        """
        found = find_palace(folder)
        now = self._noting.now_us()
        report = PalaceReport(str(folder), is_dry_run, wings={}, skipped={}, notes=[])
        about = f"MemPalace {folder.name}"
        if not is_dry_run:
            make_home(self._noting.home.home)
            about = self._noting.clean(about)
        batch = new_batch("import", started_at=now, about=about)
        run = _Run(self._noting, report, batch, told)
        for path in found.drawers:
            with closing(read_kept(path)) as texts:
                run.take_texts(texts)
        if found.graph is not None:
            with closing(read_triples(found.graph)) as triples:
                run.take_triples(triples)
        elif found.beside is not None:
            report.notes.append(f"there is a knowledge graph next to it: import {found.beside.parent} to import both")
        return report


class _Run:
    """One import. Every transaction keeps what it took with the batch as it is then."""

    def __init__(
        self, noting: Noting, report: PalaceReport, batch: Batch, told: Callable[[PalaceReport], None] | None
    ) -> None:
        self._noting = noting
        self._report = report
        self._batch = batch
        self._told = told
        self._clean = noting.clean if not report.is_dry_run else str
        """A dry run keeps nothing; redacting would make the keys of a memory."""
        self._seen: set[str] = set()
        self._undone: dict[str, bool] = {}
        self._facts: dict[str, Fact] | None = None
        """By reference, what an import took before; read when the first is needed."""

    @cached_property
    def _rules(self) -> str:
        return f"mempalace-{RULES_VERSION}-{detectors_in_force(self._noting.home.config.privacy)}"

    @cached_property
    def _forgotten(self) -> Forgotten:
        with self._noting.reading() as read:
            return Forgotten.of(self._keys.forget_key, read_tombstones(read.db))

    @cached_property
    def _keys(self) -> HomeKeys:
        return load_or_create_keys(self._noting.home.home / "keys")

    def take_texts(self, texts: Iterable[Kept]) -> None:
        """Take documents and entries of diaries."""
        for group in _grouped(texts, size_of=lambda kept: len(kept.text)):
            entries, documents = self._sorted(group)
            if self._report.is_dry_run:
                self._report.diary_taken += len(entries)
                self._report.documents_taken += len(documents)
                continue
            with self._noting.reading() as read:
                new = [found for one in documents if (found := self._new(read, one)) is not None]
            ready = [self._ready(*found) for found in new]  # redacts: not while others wait to write
            with self._noting.writing() as notes:
                before = self._report.added
                for entry in entries:
                    self._keep_entry(notes, entry)
                for document, row, draft in ready:
                    self._keep_document(notes, document, row, draft)
                self._end_of(notes, before)

    def take_triples(self, triples: Iterable[Triple]) -> None:
        """Take facts."""
        for group in _grouped(triples, size_of=lambda triple: len(triple.object)):
            for triple in group:
                if triple.problem:
                    self._skip(triple.problem)
            facts = [self._fact_of(triple) for triple in group if not triple.problem]
            if self._report.is_dry_run:
                self._report.facts_taken += len(facts)
                continue
            with self._noting.writing() as notes:
                before = self._report.added
                for fact in facts:
                    self._keep_fact(notes, fact)
                self._end_of(notes, before)

    # Of one thing

    def _sorted(self, texts: Iterable[Kept]) -> tuple[list[DiaryEntry], list[_Document]]:
        """Return what is an entry of a diary and what is a document; what is neither is counted."""
        entries: list[DiaryEntry] = []
        documents: list[_Document] = []
        for kept in texts:
            self._report.drawers += kept.drawers
            self._report.wings[kept.wing] = self._report.wings.get(kept.wing, 0) + 1
            if not kept.text.strip():
                self._skip("a drawer has no text")
            elif len(kept.text) > _MAX_TEXT_CHARS:
                self._skip("a text is too large")
            elif kept.is_diary:
                entry = self._entry_of(kept)
                entries += [entry] if entry is not None else []
            else:
                document = _document_of(kept, self._clean)
                if document.uid in self._seen:
                    self._skip("the same text is in both databases of the palace")
                else:
                    self._seen.add(document.uid)
                    documents.append(document)
        return entries, documents

    def _entry_of(self, kept: Kept) -> DiaryEntry | None:
        at = _instant(kept.said("authored_at") or kept.said("filed_at") or kept.said("date"))
        if at is None:
            self._skip("an entry of a diary has no time")
            return None
        owned = kept.wing.startswith("wing_")
        agent = kept.said("agent") or (kept.wing.removeprefix("wing_") if owned else "")
        clean = self._clean
        new = NewEntry(
            agent=clean(agent) or "unknown", text=clean(kept.text), repo="" if owned else clean(kept.wing),
            topic=clean(kept.said("topic")),
        )  # fmt: skip
        try:
            new = checked_entry(new)
        except UsageError:
            self._skip("an entry of a diary is too long")
            return None
        entry = made_entry(new, written_at=at, batch=self._batch.id)
        digest = blake2b(kept.id.encode("utf-8", "replace"), digest_size=10, person=b"mempalace")
        return msgspec.structs.replace(entry, id=f"d{digest.hexdigest()}")

    def _fact_of(self, triple: Triple) -> NewFact:
        clean = self._clean
        return NewFact(
            subject=clean(triple.subject), predicate=triple.predicate, object=clean(triple.object),
            valid_from=triple.valid_from, valid_to=triple.valid_to, source="import",
            reference=f"{REFERENCE}{triple.id}", confidence=triple.confidence,
        )  # fmt: skip

    def _new(self, read: NoteReader, document: _Document) -> _New | None:
        """Return a text that is to be taken, None (counted) for one that is there as it is, or that was forgotten."""
        mark = hmac.digest(self._keys.marker_key, b"document\0" + document.data, "sha256")
        sessions = sessions_named(read.db, document.sessions)
        session = sessions[0] if len(sessions) == 1 else ""
        rules = f"{self._rules} {session}".rstrip()
        if taken_as(read.db, document.collection, document.path) == (mark, rules):
            self._report.documents_known += 1
            return None
        if self._is_forgotten(read, document.uid):
            return None
        if any(self._forgotten.has_session(session_uid(agent, name)) for agent in OWN for name in document.sessions):
            self._skip("its session was forgotten")
            return None
        return _New(document, mark, rules, session)

    def _is_forgotten(self, read: NoteReader, name: str) -> bool:
        """Tell (and count) whether what has this name in marks was forgotten, see `removing.written.naming`."""
        is_out = is_kept_out(read.db, path_mark(self._keys.forget_key, name))
        if is_out:
            self._skip("it was forgotten")
        return is_out

    def _ready(
        self, document: _Document, mark: bytes, rules: str, session: str
    ) -> tuple[_Document, StoredDocument, EntryDraft]:
        """Return a document with its row and what a search finds of it, redacted and cut."""
        clean = self._clean
        parts = cut(clean(document.text), "text").parts
        draft = EntryDraft(
            uid=document.uid,
            kind="document",
            title=clean(document.title),
            texts=tuple(part.text for part in parts),
            headings=(document.room,) * len(parts),
            repo=document.wing,
            path=document.source,
            session_uid=session,
            ts=document.filed_at,
            status="observed",
            state="taken",
        )
        now = self._noting.now_us()
        row = StoredDocument(
            document.path,
            "taken",
            mark,
            len(document.data),
            0,
            0,
            now,
            draft.title,
            len(parts),
            batch=self._batch.id,
            rules=rules,
        )
        return document, row, draft

    def _keep_entry(self, notes: NoteWriter, entry: DiaryEntry) -> None:
        there = notes.named_diary(entry.id)
        if there and (there[0].retired_at is None or not self._is_undone(notes, there[0].batch)):
            self._report.diary_known += 1
            return
        if not there and self._is_forgotten(notes, f"diary:{entry.id}"):
            return
        self._report.again += bool(there)
        self._report.diary_taken += 1
        notes.put_diary(entry)

    def _keep_document(self, notes: NoteWriter, document: _Document, row: StoredDocument, draft: EntryDraft) -> None:
        collection = Collection(
            name=document.collection, folder="", repo=document.wing, added_at=row.taken_at, batch=self._batch.id,
        )  # fmt: skip
        if not has_collection(notes.db, collection.name):
            save_collection(notes.db, collection)
        save_documents(notes.db, collection.name, [row], [draft])
        self._report.documents_taken += 1
        self._report.documents_linked += bool(draft.session_uid)

    def _keep_fact(self, notes: NoteWriter, new: NewFact) -> None:
        now = self._noting.now_us()
        if self._facts is None:
            self._facts = _by_reference(notes)
        there = self._facts.get(new.reference)
        undone = there is not None and there.is_retracted and self._is_undone(notes, there.batch)
        if there is not None and not undone:
            if new.valid_to is not None and there.valid_to is None and not there.is_retracted:
                self._facts[new.reference] = end_fact(notes, there, ended=new.valid_to, now_us=now)
                self._report.facts_ended += 1
            else:
                self._report.facts_known += 1
            return
        if there is None and self._is_forgotten(notes, new.reference):
            return
        try:
            added = add_fact(notes, new, now_us=now, batch=self._batch.id)
        except UsageError:
            self._skip("a triple is too long, or names nothing")
            return
        self._report.again += undone and added.is_new
        self._report.facts_taken += added.is_new
        self._report.facts_known += not added.is_new

    def _is_undone(self, notes: NoteReader, batch: str) -> bool:
        if batch not in self._undone:
            found = notes.named_batches(batch) if batch else []
            self._undone[batch] = len(found) == 1 and found[0].undone_at is not None
        return self._undone[batch]

    # Of the run

    def _end_of(self, notes: NoteWriter, before: int) -> None:
        """Keep the batch with what was taken so far, if this transaction took anything."""
        report = self._report
        if report.added > before:
            counts = {
                "documents": report.documents_taken, "diary": report.diary_taken, "facts": report.facts_taken,
            }  # fmt: skip
            self._batch = msgspec.structs.replace(self._batch, counts={k: n for k, n in counts.items() if n})
            notes.put_batch(self._batch)
            report.batch = self._batch.id
        if self._told is not None:
            self._told(report)

    def _skip(self, reason: str) -> None:
        self._report.skipped[reason] = self._report.skipped.get(reason, 0) + 1


class _Document(NamedTuple):
    """A text that becomes a document, as it was there."""

    collection: str
    path: str
    title: str
    text: str
    wing: str
    room: str
    source: str
    filed_at: int | None
    sessions: tuple[str, ...] = ()
    """Native ids of the session that its source may be the transcript of, by the file's name."""

    @property
    def uid(self) -> str:
        """The uid of its entry."""
        return document_uid(self.collection, self.path)

    @property
    def data(self) -> bytes:
        """Its text as bytes."""
        return self.text.encode("utf-8", "replace")


class _New(NamedTuple):
    """A document to take. mark: the keyed hash of its text. session: that it is another record of, "" for none."""

    document: _Document
    mark: bytes
    rules: str
    session: str


def _by_reference(notes: NoteReader) -> dict[str, Fact]:
    facts = [f for f in notes.facts(FactQuestion(is_history=True)) if f.reference.startswith(REFERENCE)]
    facts.sort(key=lambda fact: (not fact.is_retracted, fact.recorded_at))
    return {fact.reference: fact for fact in facts}


def _document_of(kept: Kept, clean: Callable[[str], str]) -> _Document:
    source, wing, room = clean(kept.said("source_file")), clean(kept.wing), clean(kept.room)
    name = source.replace("\\", "/").lstrip("/") or kept.id
    return _Document(
        collection=f"{PREFIX}{_slug(wing) or 'unknown'}",
        path=f"{_slug(room) or 'general'}/{name}",
        title=name.rpartition("/")[2] if source else kept.text.strip().partition("\n")[0][:120],
        text=kept.text,
        wing=wing,
        room=room,
        source=source,
        filed_at=_instant(kept.said("authored_at") or kept.said("filed_at")),
        sessions=_native_ids(kept.said("source_file")),
    )


def _native_ids(source: str) -> tuple[str, ...]:
    """Return the ids that a transcript's name may hold: all of it without suffix, and the UUID at its end."""
    stem = PureWindowsPath(source).stem
    at_end = _UUID_AT_END.search(stem)
    return tuple(dict.fromkeys(name for name in (stem, at_end.group() if at_end else "") if name))


def _slug(name: str) -> str:
    """Return a wing or room as a part of an entry's uid: letters, digits, `_`, `-` and `.`."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")


def _instant(text: str) -> int | None:
    """Return UTC microseconds. MemPalace writes times without a zone in that of its machine, which is this one."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return parse_iso(text)
    try:
        return int((at if at.tzinfo is not None else at.astimezone()).timestamp() * 1_000_000)
    except (OverflowError, OSError, ValueError):
        return None


def _grouped(items: Iterable[_Item], *, size_of: Callable[[_Item], int]) -> Iterator[list[_Item]]:
    """Yield items in groups that one short transaction can hold."""
    group: list[_Item] = []
    chars = 0
    for item in items:
        group.append(item)
        chars += size_of(item)
        if len(group) >= _MOST_AT_ONCE or chars >= _MOST_CHARS_AT_ONCE:
            yield group
            group, chars = [], 0
    if group:
        yield group
