"""The vector files of one embedder: append-only columns, and a commit log that says how much is valid.

    <folder>/manifest.json   whose vectors these are, and which generation is in force; replaced as a whole
    <folder>/g<N>/codes      int8 rows, each a vector divided by its scale
    <folder>/g<N>/scales     float32, one a row
    <folder>/g<N>/signs      one bit a dimension, in words of 64: is it above zero
    <folder>/g<N>/keys       int64 event keys, one a row
    <folder>/g<N>/marks      int64, one a row; of entries only: which content of the entry the row was made of
    <folder>/g<N>/gone       int64 triples (first key, last key, row): rows of these keys before `row` are dead
    <folder>/g<N>/commits    fixed records with a checksum; the last whole one counts

Rows beyond the last commit are what a crash left; readers never look there and the next writer writes over them.
Readers never wait for the writer: what a commit counts does not change any more. Events and entries have files apart,
those of entries in `ENTRIES_FOLDER` beside the folders of identities.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

from recollect.errors import IndexUnavailable
from recollect.files import remove_folder, write_file
from recollect.paths import make_private

FORMAT = 1
ENTRIES_FOLDER = "entries"
"""Where below a home's vectors those of entries are. No identity's folder has this name: theirs end in a checksum."""
WORD_BITS = 64
_COMMIT = struct.Struct("<qqqq16s")
_SUM = struct.Struct("<I")
COMMIT_BYTES = _COMMIT.size + _SUM.size
SCANNED = -1
"""`Commit.next_key` once the first pass over the whole store is done."""
GONE_BYTES = 24


class EmbedderIdentity(NamedTuple):
    """The owner of vectors: another embedder, or another way of splitting texts, starts again."""

    name: str
    version: str
    cutting: int

    @property
    def folder_name(self) -> str:
        """A name that is safe on every file system and differs for every identity."""
        slug = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")[:40] or "model"
        return f"{slug}-{zlib.crc32(repr(tuple(self)).encode()):08x}"


class Generation(NamedTuple):
    """A folder of columns, and how long its vectors are. has_marks: whether each row has a mark, as of entries."""

    path: Path
    dimensions: int
    has_marks: bool = False

    @property
    def words(self) -> int:
        """Words of 64 bits that the signs of a row take."""
        return -(-self.dimensions // WORD_BITS)


class VectorCommit(NamedTuple):
    """The valid part of a generation, and its position in the store.

    rows, gone: counts of the columns and of `gone`. position: last processed entry of the change log. next_key: where
    the first pass over the store continues, SCANNED when it is done. derivation_id: of the database that has the keys.
    """

    rows: int = 0
    gone: int = 0
    position: int = 0
    next_key: int = 0
    derivation_id: bytes = b"\0" * 16

    def encode(self) -> bytes:
        """Return the record with its checksum."""
        body = _COMMIT.pack(*self)
        return body + _SUM.pack(zlib.crc32(body))

    @classmethod
    def decode(cls, data: bytes) -> VectorCommit | None:
        """Return what a record says, None for a torn or damaged one."""
        if len(data) != COMMIT_BYTES or _SUM.unpack(data[_COMMIT.size :])[0] != zlib.crc32(data[: _COMMIT.size]):
            return None
        return cls(*_COMMIT.unpack(data[: _COMMIT.size]))


class Files:
    """The paths of one identity below a home's `index/vectors`. Reads and replaces the manifest."""

    def __init__(self, folder: Path, identity: EmbedderIdentity, *, has_marks: bool = False) -> None:
        self.folder = folder / identity.folder_name
        self.identity = identity
        self._has_marks = has_marks
        self._seen: tuple[tuple[int, int, int], Generation] | None = None

    def generation(self) -> Generation | None:
        """Return the generation in force; None if nothing was made yet.

        Raises:
            IndexUnavailable: the manifest cannot be read or belongs to another embedder or format.
        """
        try:
            file = self.folder / "manifest.json"
            status = file.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if self._seen is not None and self._seen[0] == stamp:  # every search by meaning asks
                return self._seen[1]
            manifest = json.loads(file.read_bytes())
            found = (manifest["format"], *(manifest[field] for field in EmbedderIdentity._fields))
            path = self.folder / str(manifest["generation"])
            generation = Generation(path, int(manifest["dimensions"]), self._has_marks)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise IndexUnavailable(f"the vectors in {self.folder} cannot be read", hint=REMAKE_HINT) from error
        if found != (FORMAT, *self.identity):
            raise IndexUnavailable(f"the vectors in {self.folder} are of another model or format", hint=REMAKE_HINT)
        self._seen = (stamp, generation)
        return generation

    def begin(self, dimensions: int) -> Generation:
        """Return a new, empty generation that is not in force yet."""
        make_private(self.folder)
        taken = [int(p.name[1:]) for p in self.folder.glob("g*") if p.name[1:].isdecimal()]
        path = self.folder / f"g{max(taken, default=0) + 1}"
        path.mkdir(mode=0o700)
        return Generation(path, dimensions, self._has_marks)

    def enforce(self, generation: Generation) -> None:
        """Put a generation in force and delete the others; those still read elsewhere go with a later call."""
        manifest = {
            "format": FORMAT,
            **self.identity._asdict(),
            "dimensions": generation.dimensions,
            "generation": generation.path.name,
        }
        write_file(self.folder / "manifest.json", json.dumps(manifest, indent=1).encode(), durable=True)
        for path in self.folder.glob("g*"):
            if path != generation.path:
                remove_folder(path, ignore_errors=True)

    def remove_others(self) -> None:
        """Delete the vectors of every other identity: nobody asks a model that is not configured any more."""
        for folder in self.folder.parent.glob("*"):
            if folder.is_dir() and folder != self.folder and folder.name != ENTRIES_FOLDER:
                remove_vectors(folder)


def remove_vectors(folder: Path) -> None:
    """Delete the vectors of one identity; an interrupted removal leaves a missing index, not a damaged one."""
    with contextlib.suppress(FileNotFoundError):
        (folder / "manifest.json").unlink()
    remove_folder(folder, ignore_errors=True)


def kept_models(folder: Path) -> tuple[str, ...]:
    """Return the models whose vectors a home keeps, by the names of their folders; in order."""
    return tuple(sorted(path.parent.name for path in folder.glob("*/manifest.json")))


REMAKE_HINT = "run `recollect embed --anew`"


def last_commit(generation: Generation) -> VectorCommit:
    """Return the last whole commit whose rows all exist; an empty one without any.

    Raises:
        IndexUnavailable: the log cannot be read, or the columns are shorter than it says.
    """
    path = generation.path / "commits"
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            for record in range(size // COMMIT_BYTES - 1, -1, -1):
                file.seek(record * COMMIT_BYTES)
                commit = VectorCommit.decode(file.read(COMMIT_BYTES))
                if commit is not None:
                    return commit
    except FileNotFoundError:
        return VectorCommit()
    except OSError as error:
        raise IndexUnavailable(f"{path} cannot be read: {error.strerror}", hint=REMAKE_HINT) from error
    return VectorCommit()


def column_sizes(generation: Generation, commit: VectorCommit) -> dict[str, int]:
    """Return how many bytes of each column a commit counts."""
    return {
        "codes": commit.rows * generation.dimensions,
        "scales": commit.rows * 4,
        "signs": commit.rows * generation.words * 8,
        "keys": commit.rows * 8,
        **({"marks": commit.rows * 8} if generation.has_marks else {}),
        "gone": commit.gone * GONE_BYTES,
    }


def check_sizes(generation: Generation, commit: VectorCommit) -> None:
    """Raise IndexUnavailable where a column is shorter than its commit says."""
    for name, size in column_sizes(generation, commit).items():
        try:
            found = (generation.path / name).stat().st_size
        except OSError:
            found = 0
        if found < size:
            raise IndexUnavailable(f"the vectors in {generation.path.parent} are damaged ({name})", hint=REMAKE_HINT)
