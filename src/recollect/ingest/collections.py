"""Makes a collection of a folder: its name, its repository, and a check against overlaps."""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from recollect.capture.document_folders import MAX_NAME_CHARS, FoundDocument, as_name, format_of, is_name, project_name
from recollect.capture.document_text import DocumentBytes, cut, read_document, text_of
from recollect.config import Config
from recollect.errors import SourceRefused, SourceUnavailable, UsageError
from recollect.model.learnings.entries import EntryDraft
from recollect.model.sessions import repo_name
from recollect.paths import user_home
from recollect.privacy.redact import Redactor, detectors_in_force
from recollect.ready_blocks import work_folder
from recollect.store.documents import Collection, StoredDocument, document_uid


class Proposed(NamedTuple):
    """A collection for a folder. is_new: there was none. notes: on how it got its name."""

    collection: Collection
    is_new: bool
    notes: tuple[str, ...] = ()


def propose(
    folder: str, name: str, known: Iterable[Collection], *, env: Mapping[str, str], home: str, now_us: int
) -> Proposed:
    """Return the collection of a folder: the existing one, or a new one, not stored yet.

    name: given by a person; "": from the folder's project file, else its repository's name (with the path inside, for a
    second folder of one repository), else the folder's name. home: the memory's own folder.

    Raises:
        SourceUnavailable: the folder does not exist, or cannot be listed.
        UsageError: it is not a project's folder; the name is invalid or another folder's; the folder is part of a
            collection, or contains one.
    """
    top = os.path.realpath(folder)
    _must_be_project(top, env=env, home=home)
    known = tuple(known)
    collections = [one for one in known if one.folder]
    same = next((one for one in collections if _same(one.folder, top)), None)
    if name and not is_name(name):
        raise UsageError(
            f"{name!r} cannot name a collection",
            hint=f"a name has at most {MAX_NAME_CHARS} characters, and no slash or #",
        )
    if same is not None:
        if name and name != same.name:
            hint = f"`recollect docs remove {same.name}` first, to give it another name"
            raise UsageError(f"{top} is the collection {same.name!r} already", hint=hint)
        return Proposed(same, False)
    for one in collections:
        if _is_in(top, one.folder):
            hint = f"`recollect docs refresh {one.name}` looks at it"
            raise UsageError(f"{top} is part of the collection {one.name!r} ({one.folder}) already", hint=hint)
        if _is_in(one.folder, top):
            hint = f"`recollect docs remove {one.name}` first, or add its folder's neighbours"
            raise UsageError(f"{top} has the collection {one.name!r} in it ({one.folder})", hint=hint)
    repository, repo = _repository(top, env)
    said = project_name(top)
    taken = {one.name: one for one in known}
    chosen = name or said.name
    if not chosen:
        likely = _likely_names(top, repository, repo)
        chosen = next((one for one in likely if one not in taken), likely[0])
    if chosen in taken:
        where = taken[chosen].folder or "an import"
        hint = "give it another: --collection NAME"
        raise UsageError(f"the collection {chosen!r} is another folder's already ({where})", hint=hint)
    notes = [said.problem] if said.problem else []
    if not name and said.name:
        notes.append(f"called {chosen!r} by its {said.file}")
    named_by = "" if name else said.file
    made = Collection(name=chosen, folder=top, repo=repo, added_at=now_us, named_by=named_by)
    return Proposed(made, True, tuple(notes))


def _must_be_project(top: str, *, env: Mapping[str, str], home: str) -> None:
    if not os.path.isdir(top):
        if os.path.lexists(top):
            raise UsageError(f"{top} is not a folder", hint="name the folder that it is in")
        raise SourceUnavailable(f"{top} does not exist")
    try:
        os.scandir(top).close()
    except OSError as error:
        raise SourceUnavailable(f"cannot read {top}: {error.strerror}") from error
    if _is_in(os.path.realpath(str(user_home(env))), top) or os.path.dirname(top) == top:
        raise UsageError(
            f"{top} is not a project: it contains all files of a user", hint="name the folders of your projects"
        )
    if _is_in(top, os.path.realpath(home)):
        raise UsageError(f"{top} is the memory's own")


def _repository(top: str, env: Mapping[str, str]) -> tuple[str, str]:
    """Return the top of the git repository that a folder is in, "" for none, and the name that sessions in it have."""
    found = work_folder(top, env)
    if found is None or not found[1]:
        return "", repo_name("", "", top)
    return os.path.realpath(found[0]), repo_name(found[0], "", "")


def _likely_names(top: str, repository: str, repo: str) -> list[str]:
    if not repository or not repo:
        return [as_name(os.path.basename(top))]
    if _same(top, repository):
        return [as_name(repo)]
    return [as_name(repo), as_name(f"{repo}-{os.path.relpath(top, repository)}")]


def _same(one: str, other: str) -> bool:
    return os.path.normcase(one) == os.path.normcase(other)


def _is_in(path: str, folder: str) -> bool:
    inner, outer = os.path.normcase(path), os.path.normcase(folder)
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)


RULES_VERSION = "1"
"""Of cutting and reading. With another one everything is taken again."""


class Taken(NamedTuple):
    """A file that was read. draft: None where it has nothing to be found, or is as it was. redactions: how many."""

    row: StoredDocument
    draft: EntryDraft | None
    redactions: int = 0


class Taker:
    """Takes the files of one collection. key: keeps the hashes of contents from being guessed."""

    def __init__(
        self, collection: Collection, redactor: Callable[[], Redactor], *, key: bytes, max_bytes: int, rules: str
    ) -> None:
        """redactor: gives it at the first file. rules: see `rules_of`."""
        self._collection = collection
        self._redactor = redactor
        self._key = key
        self._max_bytes = max_bytes
        self._rules = rules

    def is_by_other_rules(self, known: StoredDocument) -> bool:
        """Return whether an unchanged document must be ingested again."""
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
