"""Old transcripts as the batches that a team's server takes, without a memory that keeps them.

A part is a function of its files: the workers of an ingest read them into a memory that lives as long as the part
takes, and a push from there gives the batches. So everything is redacted, at its level, before it leaves the process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from recollect.agents.base import Adapter
from recollect.agents.registry import adapters_with, define, for_role
from recollect.archive.keys import load_or_create_keys
from recollect.capture.discover import FoundSource
from recollect.capture.expand import expand
from recollect.capture.folders import sort_out
from recollect.capture.replay import is_rows
from recollect.capture.sources import read_head
from recollect.config import Config
from recollect.endpoints.team_client import TeamClient
from recollect.errors import SourceUnavailable
from recollect.ingest.home import OpenHome
from recollect.ingest.operations import take_found
from recollect.model.records import SourceInfo
from recollect.model.team_messages import Level, Standing, Taken
from recollect.sharing.membership import Membership
from recollect.sharing.push import push
from recollect.store.home import Home, make_home
from recollect.store.rows import EventFilter

PART_BYTES = 16 << 20
_ALL = 10_000_000


class ArchivePart(msgspec.Struct, frozen=True):
    """Sources that one process reads into a memory of its own: whole sessions. number: its place among the parts.

    data_key: of every such memory, so that a secret has the same marker in all of them. repos: empty: all.
    """

    number: int
    found: dict[str, list[FoundSource]]
    level: Level
    repos: tuple[str, ...]
    data_key: bytes
    config: Config

    @property
    def size(self) -> int:
        """How many bytes its sources have."""
        return sum(map(_size_of, (one for of_one in self.found.values() for one in of_one)))


class PartBatches(msgspec.Struct, frozen=True):
    """What a part came to: compressed batches, in order. unnamed: sessions of no repository, which cannot be shared.
    skipped: lines on sources that could not be read."""

    number: int
    batches: tuple[bytes, ...]
    sessions: int
    events: int
    unnamed: int
    skipped: tuple[str, ...]


class FoundArchives(msgspec.Struct):
    """What folders hold. left_out: sources that only repeat what other files say, such as histories of prompts."""

    groups: list[dict[str, list[FoundSource]]]
    left_out: int


def find_archives(folders: Sequence[Path], config: Config) -> FoundArchives:
    """Return the sources below folders; those of one session are together. Raises SourceUnavailable."""
    known = adapters_with(config.formats())
    groups: dict[tuple[str, str], dict[str, FoundSource]] = {}
    left_out = 0
    for folder in folders:
        if not folder.exists():
            raise SourceUnavailable(f"{folder} does not exist")
        found = sort_out(str(folder.absolute()), known, known={}, read_head=read_head)
        for slug, files in found.sources.items():
            has_rows = any(is_rows(place.container) for place in known[slug].facts.places)
            for source in expand(files, ()).sources if has_rows else files:
                session = _session_of(source, known[slug])
                if not session and source.place.lane:
                    left_out += 1
                    continue
                groups.setdefault((slug, session or source.path), {})[source.path] = source
    ordered = sorted(groups.items())
    return FoundArchives([{slug: list(of_one.values())} for (slug, _session), of_one in ordered], left_out)


def parts_of(
    found: FoundArchives, *, level: Level, repos: Sequence[str], data_key: bytes, config: Config
) -> Iterator[ArchivePart]:
    """Yield parts of about PART_BYTES; a session is never parted."""
    gathered: dict[str, list[FoundSource]] = {}
    size = number = 0
    for group in found.groups:
        for slug, sources in group.items():
            gathered.setdefault(slug, []).extend(sources)
            size += sum(map(_size_of, sources))
        if size >= PART_BYTES:
            yield ArchivePart(number, gathered, level, tuple(repos), data_key, config)
            gathered, size, number = {}, 0, number + 1
    if gathered:
        yield ArchivePart(number, gathered, level, tuple(repos), data_key, config)


def redacted_batches(part: ArchivePart) -> PartBatches:
    """Read a part and return its batches. The same part gives the same content, wherever and however often it runs."""
    define(part.config.formats())
    with tempfile.TemporaryDirectory(prefix="recollect-part-") as folder:
        home = Path(folder) / "home"
        make_home(home)
        load_or_create_keys(Home(home).keys, data_key=part.data_key)
        with closing(OpenHome(home, part.config, {"HOME": folder})) as opened:
            report = take_found(opened, part.found)
            reader = opened.reader()
            wanted = {name.casefold() for name in part.repos}
            shares: dict[str, Level] = {
                name: part.level for name in reader.names("repo") if name and (not wanted or name.casefold() in wanted)
            }
            client = _GatheringClient()
            done = push(opened, Membership("", "", "", "", "", 0, shares), client)
            sessions, _total = reader.sessions(EventFilter(), limit=_ALL)
            unnamed = sum(1 for one in sessions if not one.repo)
    skipped = tuple(f"{one.path}: {one.reason}" for line in report.agents.values() for one in line.skipped)
    return PartBatches(part.number, tuple(client.batches), done.sessions, done.events, unnamed, skipped)


class _GatheringClient(TeamClient):
    """Keeps the batches of a push. It stands for a server that has nothing yet."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1")
        self.batches: list[bytes] = []

    def standing(self) -> Standing:
        """See `TeamClient.standing`."""
        return Standing(
            team="", person="", machine="", role="member", expires_at=0, number=0, derivation_id="", position=None,
            shares={}, known=(), held=(),
        )  # fmt: skip

    def send(self, body: bytes) -> Taken:
        """See `TeamClient.send`."""
        self.batches.append(body)
        return Taken(len(self.batches), is_new=True)


def _session_of(source: FoundSource, adapter: Adapter) -> str:
    reader = for_role(adapter, source.place.role)
    info = SourceInfo.of(source.agent, source.place.role, source.relative)
    if source.document is not None:
        return source.path
    try:
        return reader.identify(info, read_head(source.path))
    except Exception:  # noqa: BLE001 - a file that no parser can read is told where it is read
        return source.path


def _size_of(source: FoundSource) -> int:
    return source.size if source.share_bytes < 0 else source.share_bytes
