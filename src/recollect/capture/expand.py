"""Expands files to documents: a database or folder of small files holds several sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from recollect.capture.containers.directory import documents_of
from recollect.capture.containers.export import elements_of
from recollect.capture.containers.otlp import mark_of_file
from recollect.capture.containers.sqlite import FileState, open_database, state_of
from recollect.capture.discover import FoundSource, RefusedPath
from recollect.capture.sources import DocumentPlace
from recollect.errors import SourceChanged, SourceError

REQUESTS = "requests"
"""The one document of a file of OTLP requests."""
NO_TABLES = "has none of the known tables; the agent may have changed its format"


class KnownDocument(NamedTuple):
    """A document that was taken before: its place (`file#role/document`), its mark, and its database's state then."""

    path: str
    relative: str
    role: str
    mark: bytes
    state: FileState


class Expanded(NamedTuple):
    """The sources with documents instead of databases and folders, and what could not be opened."""

    sources: list[FoundSource]
    refused: list[RefusedPath]


def expand(found: Sequence[FoundSource], known: Iterable[KnownDocument]) -> Expanded:
    """Replace databases and the files of directory places by their documents.

    A database that looks as it did when its documents were last taken is not opened. One that cannot be read now keeps
    its known documents as they are: not being readable is not a deletion.
    """
    of_file: dict[tuple[str, str], list[KnownDocument]] = {}
    for document in known:
        of_file.setdefault((split_path(document.path, document.role)[0], document.role), []).append(document)
    out = Expanded([], [])
    folders: dict[tuple[str, str], list[FoundSource]] = {}
    for item in found:
        if item.place.container == "sqlite":
            _expand_database(item, of_file.get((item.path, item.place.role), []), out)
        elif item.place.container == "export":
            _expand_export(item, out)
        elif item.place.container == "otlp":
            out.sources.append(_requests(item))
        elif item.place.container == "directory":
            root = item.path[: len(item.path) - len(item.relative)]
            folders.setdefault((root, item.place.role), []).append(item)
        else:
            out.sources.append(item)
    for (root, _role), items in folders.items():
        out.sources.extend(_expand_folder(root, items))
    return out


def database_problems(found: Sequence[FoundSource]) -> list[RefusedPath]:
    """Return the databases among the sources that cannot be read now or have none of the known tables, for `doctor`."""
    problems: list[RefusedPath] = []
    for item in found:
        if item.place.container == "sqlite":
            try:
                with open_database(item.path, item.place.tables) as database:
                    if not database.is_known:
                        problems.append(RefusedPath(item.path, NO_TABLES))
            except SourceError as error:
                problems.append(RefusedPath(item.path, str(error), is_failure=True))
    return problems


def split_path(path: str, role: str) -> tuple[str, str]:
    """Return (file, document) of the place of a document of a role."""
    file, _, document = path.partition(f"#{role}/")
    return file, document


def _expand_database(item: FoundSource, known: list[KnownDocument], out: Expanded) -> None:
    try:
        state = state_of(item.path)
        if known and all(document.state == state for document in known):
            out.sources.extend(_as_known(item, document, state) for document in known)
            return
        with open_database(item.path, item.place.tables) as database:
            if not database.is_known:  # perhaps in the midst of a migration
                out.refused.append(RefusedPath(item.path, NO_TABLES))
                out.sources.extend(_as_known(item, document, document.state) for document in known)
                return
            marks = database.marks()
    except SourceError as error:
        is_failure = not isinstance(error, SourceChanged)
        out.refused.append(RefusedPath(item.path, str(error), is_failure=is_failure))
        out.sources.extend(_as_known(item, document, document.state) for document in known)
        return
    share = state.size // max(1, len(marks))
    for name, mark in marks.items():
        where = DocumentPlace(item.path, name, mark)
        out.sources.append(_document(item, name, where, state, share))


def _expand_export(item: FoundSource, out: Expanded) -> None:
    try:
        elements = elements_of(item.path, item.place.document_keys)
    except SourceError as error:
        out.refused.append(RefusedPath(item.path, str(error), is_failure=True))
        return
    state = FileState(item.size, item.mtime_ns, item.inode)
    share = state.size // max(1, len(elements))
    for element in elements:
        where = DocumentPlace(item.path, element.document, element.mark, element=element)
        out.sources.append(_document(item, element.document, where, state, share))


def _requests(item: FoundSource) -> FoundSource:
    """A file of requests is one document; its rows show what was appended."""
    state = FileState(item.size, item.mtime_ns, item.inode)
    where = DocumentPlace(item.path, REQUESTS, mark_of_file(*state))
    return _document(item, REQUESTS, where, state, state.size)


def _expand_folder(root: str, items: list[FoundSource]) -> Iterable[FoundSource]:
    place = items[0].place
    files = [(item.relative, item.path, item.size, item.mtime_ns) for item in items]
    for document in documents_of(place.members, files):
        size = sum(file.size for file in document.files)
        newest = max(file.mtime_ns for file in document.files)
        where = DocumentPlace(root.rstrip("/\\"), document.name, document.mark, document.files)
        first = msgspec.structs.replace(items[0], path=root.rstrip("/\\"), relative=".")
        yield _document(first, document.name, where, FileState(size, newest, 0), size)


def _document(item: FoundSource, name: str, where: DocumentPlace, state: FileState, share: int) -> FoundSource:
    suffix = f"#{item.place.role}/{name}"
    return msgspec.structs.replace(
        item,
        path=item.path + suffix,
        relative=item.relative + suffix,
        size=state.size,
        mtime_ns=state.mtime_ns,
        inode=state.inode,
        document=where,
        share_bytes=share,
    )


def _as_known(item: FoundSource, known: KnownDocument, state: FileState) -> FoundSource:
    _, name = split_path(known.path, known.role)
    where = DocumentPlace(item.path, name, known.mark)
    return msgspec.structs.replace(
        item, path=known.path, relative=known.relative, size=state.size, mtime_ns=state.mtime_ns, inode=state.inode,
        document=where, share_bytes=0,
    )  # fmt: skip
