"""Which repositories this memory knows. A name is not enough: two repositories of one name are shared apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from recollect.errors import TeamRefused, UnknownName
from recollect.model.sessions import main_tree
from recollect.model.team_messages import LEVELS, Level
from recollect.store.sessions import SessionPlace


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
