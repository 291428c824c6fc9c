"""Which repositories this memory knows, and what a session contributes at each level, with its vectors."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from recollect.errors import EmbeddingUnavailable, TeamRefused, UnknownName
from recollect.index.vectors.builtin import directions
from recollect.index.vectors.texts import CUTTING, chunks_of
from recollect.index.vectors.vector_index import Embedder
from recollect.ingest.open_home import OpenHome
from recollect.model.events import Event
from recollect.model.learnings.learnings import GIVEN_STATES, Learning
from recollect.model.payloads import Payload, ToolCall, ToolResult
from recollect.model.sessions import main_tree
from recollect.model.team_messages import (
    LEVELS,
    MAX_TEXT_CHARS,
    VECTOR_DIMENSIONS,
    Level,
    SharedDecision,
    SharedEvent,
    SharedLearning,
    SharedSession,
    SharedUsage,
)
from recollect.model.text import searchable
from recollect.model.usage import UsageTotals
from recollect.store.insights import KeptDecision
from recollect.store.learnings import LearningFilter, LearningReader
from recollect.store.reader import Reader
from recollect.store.rows import EventFilter
from recollect.store.sessions import SessionPlace
from recollect.visible import fields_of

_MAX_PATHS, _MAX_PATH_CHARS = 100, 4096
_MAX_NAME_CHARS = 200


class LocalSession(NamedTuple):
    """A local session that is shared. uid: as others see it; stored_uid: as it is stored. changed_at: UTC
    microseconds."""

    number: int
    uid: str
    stored_uid: str
    level: Level
    changed_at: int
    decisions: tuple[SharedDecision, ...] = ()

    @property
    def stamp(self) -> int:
        """A number that is another one when the session was ingested or analysed again, or what it decided changed."""
        said = repr(
            (self.changed_at, [(one.node_id, [link.older for link in one.links]) for one in self.decisions])
        ).encode()
        return int.from_bytes(blake2b(said, digest_size=7).digest())


def shared_session(home: OpenHome, reader: Reader, one: LocalSession) -> SharedSession | None:
    """Return what is said of a session at its level; None where it has gone meanwhile."""
    session = reader.session(one.stored_uid)
    if session is None:
        return None
    where = EventFilter(sessions=(one.stored_uid,))
    usage = reader.usage(by="model", where=where, after=None, before=None, zone=UTC)
    figures = SharedSession(
        session_uid=one.uid,
        level=one.level,
        stamp=one.stamp,
        agent=session.agent[:_MAX_NAME_CHARS],
        repo=session.repo[:_MAX_NAME_CHARS],
        usage=tuple(_shared_usage(row.key, row.totals) for row in usage.rows),
        **fields_of(session, "outcome started_at ended_at event_count turn_count"),
    )
    if one.level == "figures":
        return figures
    digest = home.distilled().digest(one.stored_uid)
    return msgspec.structs.replace(
        figures,
        title=session.title[:MAX_TEXT_CHARS],
        branch=session.git_branch[:1000],
        digest=None if digest is None else msgspec.to_builtins(digest),
        decisions=one.decisions,
    )


def _shared_usage(model: str, used: UsageTotals) -> SharedUsage:
    same = "input_tokens output_tokens responses cost_usd cache_write_5m_tokens cache_write_1h_tokens reasoning_tokens"
    cached = used.cache_read_tokens + used.cache_write_5m_tokens + used.cache_write_1h_tokens
    return SharedUsage(model[:_MAX_NAME_CHARS], cache_tokens=cached, **fields_of(used, same))


def shared_decision(kept: KeptDecision) -> SharedDecision:
    """Return a decision with its links to older ones; those of newer decisions are sent with these."""
    own = (one.link for one in kept.links if one.revoked_at is None and one.link.newer == kept.decision.id)
    return SharedDecision(kept.decision.id, msgspec.to_builtins(kept.decision), tuple(own))


def shared_learnings(
    reader: LearningReader, repos: Mapping[str, bool], sessions: Collection[str]
) -> list[SharedLearning]:
    """Return what was learned of repositories and holds, with its quotes of these sessions. What rests on other
    sessions alone stays here.

    repos: by name, whether it means one repository alone. sessions: as they are stored."""
    found = reader.learnings(LearningFilter(repos=tuple(repos), states=GIVEN_STATES)) if repos else []
    shared = []
    for learning in found:
        evidence = tuple(one for one in learning.evidence if one.session_uid in sessions)
        if evidence or (not learning.evidence and repos[learning.repo]):  # a person said it, of this repository
            shared.append(_shared_learning(msgspec.structs.replace(learning, evidence=evidence)))
    return shared


def _shared_learning(learning: Learning) -> SharedLearning:
    body = msgspec.json.encode(learning)
    stamp = int.from_bytes(blake2b(body, digest_size=7).digest())
    return SharedLearning(learning.id, stamp, learning.repo, learning.kind, msgspec.json.decode(body))


def shared_events(events: Iterable[Event], meaning: SharedMeaning) -> Iterator[SharedEvent]:
    """Yield events as they are sent. What one response used is a figure of one person, and is not."""
    for event in events:
        if event.kind == "token_usage":
            continue
        _class, text, paths = searchable(event.payload)
        payload = event.payload
        yield SharedEvent(
            **fields_of(event, "event_id part seq kind role ts turn_index summary is_undone"),
            tool=payload.name[:_MAX_NAME_CHARS] if isinstance(payload, ToolCall | ToolResult) else "",
            text=text[:MAX_TEXT_CHARS],
            paths=tuple(path[:_MAX_PATH_CHARS] for path in paths[:_MAX_PATHS]),
            vectors=meaning.of_event(payload),
        )


class SharedMeaning:
    """Gives vectors where this memory uses the built-in model and can; none otherwise. model: tells it from others."""

    def __init__(self, home: OpenHome) -> None:
        self._embedder: Embedder | None = None
        self.model = ""
        try:
            embedder = home.embedding.builtin()
        except EmbeddingUnavailable:
            return
        if embedder is not None and embedder.dimensions == VECTOR_DIMENSIONS:
            self._embedder = embedder
            self.model = f"{embedder.name} {embedder.version} cut {CUTTING}"

    def of_event(self, payload: Payload) -> tuple[bytes, ...]:
        """Return the vectors of an event's pieces, of those events that have any."""
        return self.of_texts(chunks_of(payload)) if self._embedder is not None else ()

    def of_texts(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        """Return a vector for each text that means something."""
        if self._embedder is None or not texts:
            return ()
        try:
            found = self._embedder.embed(texts)
        except EmbeddingUnavailable:
            return ()
        return tuple(code for code in directions(found) if any(code))


class Repository(NamedTuple):
    """A repository. places: its remotes and folders, the one that names it first. numbers: of its sessions."""

    name: str
    places: tuple[str, ...]
    numbers: frozenset[int]

    def is_meant(self, key: str) -> bool:
        """Return whether a place, or a bare name, means this repository."""
        return key in self.places if "/" in key else key.casefold() == self.name.casefold()


def known_repositories(sessions: Iterable[SessionPlace]) -> list[Repository]:
    """Return the repositories of sessions. Those of one name are one where they share a remote or a folder."""
    found: dict[str, list[tuple[set[str], set[int]]]] = {}
    names: dict[str, str] = {}
    for one in sessions:
        places, numbers = set(_places_of(one)), {one.number}
        apart = []
        for known in found.get(one.repo.casefold(), []):
            if known[0] & places:
                places |= known[0]
                numbers |= known[1]
            else:
                apart.append(known)
        found[one.repo.casefold()] = [*apart, (places, numbers)]
        names[one.repo.casefold()] = one.repo
    return [
        Repository(
            names[folded], tuple(sorted(places, key=lambda place: (_is_folder(place), place))), frozenset(numbers)
        )
        for folded, groups in sorted(found.items())
        for places, numbers in groups
    ]


def repository_of(key: str, known: Iterable[Repository]) -> Repository:
    """Return the repository that a name or a place means. Raises UnknownName, TeamRefused where it means several."""
    known = list(known)
    meant = [one for one in known if one.is_meant(key) or one.is_meant(_remote(key))]
    if not meant:
        raise UnknownName("repository", key, nearest=tuple(sorted({one.name for one in known})))
    if len(meant) > 1:
        places = ", ".join(one.places[0] for one in meant)
        raise TeamRefused(f"{len(meant)} repositories are called {key}: {places}", hint="name one of them by its place")
    return meant[0]


def level_of(one: Repository, shares: Mapping[str, Level]) -> Level | None:
    """Return the level at which a repository is shared; the lowest where several shares mean it."""
    return min((level for key, level in shares.items() if one.is_meant(key)), key=LEVELS.index, default=None)


def told(shares: Mapping[str, Level], known: Iterable[Repository]) -> dict[str, Level]:
    """Return shares as the team is told them: by name, because a folder's path says more than that."""
    found: dict[str, Level] = {}
    for key, level in shares.items():
        name = next((one.name for one in known if one.is_meant(key)), key.rpartition("/")[2])[:200]
        found[name] = max(level, found.get(name, level), key=LEVELS.index)
    return found


def _places_of(one: SessionPlace) -> Iterable[str]:
    remote = _remote(one.facts.git_remote)
    if remote:
        yield remote
    folder = main_tree(one.facts.repo_root or one.facts.cwd_first or one.facts.cwd).rstrip("/")
    # A folder above several repositories is none of them.
    if folder and (not remote or folder.rpartition("/")[2].casefold() == one.repo.casefold()):
        yield folder


def _remote(url: str) -> str:
    """Return host and path of a remote, however it is written: "github.com/acme/shop"."""
    plain = re.sub(r"^[a-z+]+://|[?#].*$", "", url.strip().casefold())
    return re.sub(r"^[^/@]*@", "", plain).replace(":", "/").rstrip("/").removesuffix(".git")


def _is_folder(place: str) -> bool:
    return place.startswith("/") or place[1:3] == ":/"
