"""One file of a collection as what is kept of it: read, redacted as a whole, then cut."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from recollect.capture.document_folders import FoundDocument, format_of
from recollect.capture.document_text import DocumentBytes, cut, read_document, text_of
from recollect.config import Config
from recollect.errors import SourceRefused
from recollect.model.learnings.entries import EntryDraft
from recollect.privacy.redact import detectors_in_force
from recollect.store.documents import Collection, StoredDocument, document_uid

RULES_VERSION = "1"
"""Of cutting and reading. With another one everything is taken again."""


class TextRedactor(Protocol):
    """Finds and replaces secrets; `privacy.redact.Redactor` is one."""

    def redact_text(self, text: str) -> tuple[str, Sequence[object]]: ...


class Taken(NamedTuple):
    """A file that was read. draft: None where it has nothing to be found, or is as it was. redactions: how many."""

    row: StoredDocument
    draft: EntryDraft | None
    redactions: int = 0


class Taker:
    """Takes the files of one collection. key: keeps the hashes of contents from being guessed."""

    def __init__(
        self, collection: Collection, redactor: Callable[[], TextRedactor], *, key: bytes, max_bytes: int, rules: str
    ) -> None:
        """redactor: gives it at the first file. rules: see `rules_of`."""
        self._collection = collection
        self._redactor = redactor
        self._key = key
        self._max_bytes = max_bytes
        self._rules = rules

    def is_by_other_rules(self, known: StoredDocument) -> bool:
        """Tell whether a document is to be taken again though its bytes are as they were."""
        return bool(known.parts) and known.rules != self._rules

    def take(self, found: FoundDocument, known: StoredDocument | None, *, now_us: int) -> Taken:
        """Return what is to be kept of a file. Raises SourceUnavailable, SourceChanged."""
        try:
            read = read_document(self._collection.folder, found.path, max_bytes=self._max_bytes)
        except SourceRefused as refused:
            return Taken(self._of(listed_row(found, str(refused), now_us=now_us)), None)
        mark = hmac.digest(self._key, b"document\0" + read.data, "sha256")
        if known is not None and known.content_hmac == mark and not self.is_by_other_rules(known):
            return Taken(_as_now(known, read), None)
        try:
            text = text_of(read.data)
        except SourceRefused as refused:
            return Taken(self._of(_listed(found.path, read, str(refused), mark, now_us=now_us)), None)
        redacted, findings = self._redactor().redact_text(text)
        if not redacted.strip():
            return Taken(self._of(_listed(found.path, read, "is empty", mark, now_us=now_us)), None)
        made = cut(redacted, format_of(found.path.rpartition("/")[2]))
        row = StoredDocument(
            found.path, "taken", mark, read.size, read.mtime_ns, read.ctime_ns, now_us, made.title, len(made.parts),
            rules=self._rules,
        )  # fmt: skip
        draft = EntryDraft(
            uid=document_uid(self._collection.name, found.path),
            kind="document",
            title=made.title or found.path.rpartition("/")[2],
            texts=tuple(part.text for part in made.parts),
            headings=tuple(part.heading for part in made.parts),
            repo=self._collection.repo,
            path=found.path,
            ts=read.mtime_ns // 1000,
        )
        return Taken(self._of(row), draft, len(findings))

    def _of(self, row: StoredDocument) -> StoredDocument:
        return row._replace(batch=self._collection.batch)


def rules_of(config: Config) -> str:
    """Return a fingerprint of all that decides what a taken document's text is."""
    return f"{RULES_VERSION}.{detectors_in_force(config.privacy)}"


def listed_row(found: FoundDocument, reason: str, *, now_us: int) -> StoredDocument:
    """Return the row of a file that is not read."""
    return StoredDocument(found.path, "listed", b"", found.size, found.mtime_ns, found.ctime_ns, now_us, reason=reason)


def failed_row(found: FoundDocument, known: StoredDocument | None, reason: str, *, now_us: int) -> StoredDocument:
    """Return the row of a file that could not be read; what is known of its content stays."""
    if known is None or known.state == "listed":
        return StoredDocument(found.path, "failed", b"", found.size, -1, -1, now_us, reason=reason)
    return known._replace(state="failed", mtime_ns=-1, ctime_ns=-1, reason=reason)


def _listed(path: str, read: DocumentBytes, reason: str, mark: bytes, *, now_us: int) -> StoredDocument:
    return StoredDocument(path, "listed", mark, read.size, read.mtime_ns, read.ctime_ns, now_us, reason=reason)


def _as_now(known: StoredDocument, read: DocumentBytes) -> StoredDocument:
    """Return the row of a file that was only touched, or can be read again."""
    row = known._replace(size=read.size, mtime_ns=read.mtime_ns, ctime_ns=read.ctime_ns)
    return row._replace(state="taken", reason="") if known.state == "failed" else row
