"""Watches agents' folders, by system notifications or polling, and reports changed sources."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cache
from glob import escape
from typing import Literal, NamedTuple

import msgspec

from recollect.agents.base import Adapter
from recollect.capture.containers.directory import glob_of
from recollect.capture.discover import RootDir, roots_of
from recollect.capture.scope import Scope
from recollect.config import Config
from recollect.paths import SPOOL_FOLDER, expand
from recollect.wire import OTLP_FOLDER

MOUNTS = "/proc/self/mountinfo"
_REMOTE = frozenset(
    """
    nfs nfs4 cifs smb3 smbfs afs ceph 9p virtiofs vboxsf prl_fs vmhgfs drvfs fakeowner ncpfs lustre gfs2 ocfs2 beegfs
    gpfs davfs acfs
    """.split()
)
_REMOTE_FUSE = re.compile(
    r"fuse\.(sshfs|rclone|s3fs|glusterfs|vmhgfs-fuse|grpcfuse|osxfs|gcsfuse|davfs|cephfs|juicefs).*"
)
_ESCAPED = re.compile(r"\\([0-7]{3})")


class FileSystems:
    """The mounted file systems, as they are when this is made. Where the system doesn't say, all count as local."""

    def __init__(self, mounts: str = MOUNTS) -> None:
        """mounts: a file in the form of Linux's `/proc/self/mountinfo`."""
        self._kinds: dict[str, str] = {}
        try:
            with open(mounts, encoding="utf-8", errors="surrogateescape") as lines:
                for line in lines:
                    mounted, _, source = line.partition(" - ")
                    fields = mounted.split(" ")
                    if len(fields) > 4 and source:
                        place = _ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), fields[4])
                        self._kinds[place] = source.split(" ")[0]  # the last one mounted there is what is seen
        except OSError:
            pass  # another system, or one that hides it: notifications are tried

    def is_remote(self, path: str) -> bool:
        """Return whether others may change files at a path without a notification from this system."""
        if sys.platform == "win32":
            return path.startswith(("\\\\", "//"))
        folder = os.path.realpath(path)
        while folder not in self._kinds:
            above = os.path.dirname(folder)
            if above == folder:
                return False
            folder = above
        kind = self._kinds[folder]
        return kind in _REMOTE or _REMOTE_FUSE.fullmatch(kind) is not None


_ANY_DEPTH = "**"
_WILD = frozenset("*?[")


class WatchPattern:
    """One pattern below a root, "/"-separated; `**` matches any number of folders, including none."""

    def __init__(self, text: str) -> None:
        self._segments = text.split("/")
        literal = 0
        while literal < len(self._segments) - 1 and not _WILD.intersection(self._segments[literal]):
            literal += 1
        self.base = "/".join(self._segments[:literal])
        """The folder below the root in which the first wildcard, or the file itself, stands; "": the root."""
        self.is_deep = literal < len(self._segments) - 1
        """Whether there may be folders between the base and a file."""

    def matches(self, parts: Sequence[str]) -> bool:
        """Return whether a path below the root, by its parts, matches."""
        return len(self._segments) in self._after(parts)

    def may_lie_below(self, parts: Sequence[str]) -> bool:
        """Return whether a folder may contain a match, at any depth."""
        return any(at < len(self._segments) for at in self._after(parts))

    def _after(self, parts: Sequence[str]) -> set[int]:
        """Return the places in the pattern that the parts may have led to."""
        states = self._with_skipped({0})
        for part in parts:
            states = self._with_skipped(
                {
                    at if self._segments[at] == _ANY_DEPTH else at + 1
                    for at in states
                    if at < len(self._segments)
                    and (self._segments[at] == _ANY_DEPTH or fnmatchcase(part, self._segments[at]))
                }
            )
        return states

    def _with_skipped(self, states: set[int]) -> set[int]:
        """Add the places after a `**`, which may match no folder at all."""
        found, fresh = set(states), states
        while fresh:
            fresh = {at + 1 for at in fresh if at < len(self._segments) and self._segments[at] == _ANY_DEPTH} - found
            found |= fresh
        return found


_BESIDE_DATABASE = ("-wal", "-shm", "-journal")
"""What SQLite writes beside a database: a change of these is one of the database."""


class Watched(NamedTuple):
    """A folder to watch. is_deep: with everything below it. agents: slugs of its agents, none for folders that users
    name.

    It need not exist: a missing one is looked for again and again.
    """

    folder: str
    is_deep: bool
    agents: tuple[str, ...] = ()


class _Tree(NamedTuple):
    """A root as one adapter sees it. files: patterns of files. members: of files that are parts of one document.

    is_home False: any file of lines in it may be the adapter's.
    """

    slug: str
    root: str
    is_home: bool
    files: tuple[WatchPattern, ...]
    members: tuple[WatchPattern, ...]


class WatchPlan:
    """What to watch for these adapters. repositories: the folders in which agents work, for those that write there.

    home: the memory's own folder, of which only the spool is watched.
    """

    def __init__(
        self, adapters: Sequence[Adapter], config: Config, env: Mapping[str, str], *,
        repositories: Sequence[str] = (), home: str,
    ) -> None:  # fmt: skip
        self._home = home
        self._spool = os.path.join(home, SPOOL_FOLDER)
        self._repositories = tuple(repositories)
        self._all = tuple(adapter.facts.slug for adapter in adapters)
        self._named = tuple(os.path.abspath(expand(folder, env)) for folder in config.ingest.folders)
        self._trees: dict[str, list[_Tree]] = {}
        for adapter in adapters:
            for tree in _trees_of(adapter, config, env, self._repositories):
                self._trees.setdefault(tree.root, []).append(tree)
        self.folders = self._folders()

    def _folders(self) -> tuple[Watched, ...]:
        found: dict[str, tuple[bool, set[str]]] = {self._spool: (False, set())}
        for folder in self._named:
            found[folder] = (True, set())
        for tree in (tree for trees in self._trees.values() for tree in trees):
            wanted = {(p.base, p.is_deep) for p in (*tree.files, *tree.members)} if tree.is_home else {("", True)}
            for base, is_deep in wanted & {("", True)} or wanted:  # a deep root has all other bases below it
                folder = os.path.join(tree.root, base.replace("/", os.sep)) if base else tree.root
                was_deep, agents = found.get(folder, (False, set()))
                found[folder] = (was_deep or is_deep, agents | {tree.slug})
        kept: list[Watched] = []
        deepest = os.sep * 2  # the last deep folder; no path begins so
        for folder, (is_deep, agents) in sorted(found.items(), key=lambda item: item[0].replace(os.sep, "\0")):
            if folder.startswith(deepest):
                continue
            kept.append(Watched(folder, is_deep, tuple(sorted(agents))))
            deepest = folder.rstrip(os.sep) + os.sep if is_deep else deepest
        return tuple(kept)

    def roots_of(self, slug: str) -> list[str]:
        """Return the existing folders of one agent."""
        trees = (tree for trees in self._trees.values() for tree in trees if tree.slug == slug)
        return sorted({tree.root for tree in trees if os.path.isdir(tree.root)})

    def scope_of(self, paths: Iterable[str]) -> Scope | None:
        """Return what a pass must look at after these paths changed; None where they are nobody's."""
        agents: set[str] = set()
        looked_at: set[str] = set()
        takes_spool = False
        for path in paths:
            if _is_in(path, self._spool) and not _is_in(path, os.path.join(self._spool, OTLP_FOLDER)):
                # What was taken out of the spool changed it too, and means nothing.
                is_drop = os.path.dirname(path) == self._spool and os.path.isfile(path)
                takes_spool = takes_spool or path == self._spool or is_drop
                continue
            if _is_in(path, self._home) and not _is_in(path, self._spool):
                continue
            if any(_is_in(path, folder) for folder in self._named):
                agents.update(self._all)
                looked_at.add(path)
            for place, slug in self._places(path):
                agents.add(slug)
                looked_at.add(place)
        if not looked_at and not takes_spool:
            return None
        return Scope(looked_at, agents=agents, repositories=self._repositories, takes_spool=takes_spool)

    def _places(self, path: str) -> Iterable[tuple[str, str]]:
        """Yield (path to look at, slug) of every adapter that may care."""
        for suffix in _BESIDE_DATABASE:
            path = path.removesuffix(suffix)
        for root in (path, *_above(path)):
            for tree in self._trees.get(root, ()):
                parts = os.path.relpath(path, root).split(os.sep) if path != root else []
                if any(pattern.matches(parts) for pattern in tree.members):
                    yield root, tree.slug  # a document's mark is made of all its files
                elif not tree.is_home or any(p.matches(parts) for p in tree.files) or _may_be_folder(tree, path, parts):
                    yield path, tree.slug


@cache
def _pattern(text: str) -> WatchPattern:
    """Return the pattern of a text. There are as many as the adapters declare."""
    return WatchPattern(text)


def _trees_of(adapter: Adapter, config: Config, env: Mapping[str, str], repositories: Sequence[str]) -> list[_Tree]:
    facts = adapter.facts
    roots = [root for root in roots_of(adapter, config, env) if not (facts.is_import_only and root.is_home)]
    if facts.is_per_repository:
        roots += [RootDir(folder, True) for folder in repositories]
    files = tuple(_pattern(text) for place in facts.places for text in place.patterns)
    members = tuple(_pattern(glob_of(member.pattern)) for place in facts.places for member in place.members)
    return [
        _Tree(facts.slug, root.path, root.is_home, (WatchPattern(escape(root.database)),), ())
        if root.database
        else _Tree(facts.slug, root.path, root.is_home, files, members)
        for root in roots
    ]


def _may_be_folder(tree: _Tree, path: str, parts: Sequence[str]) -> bool:
    """Return whether a path that is no source may be a folder with sources: one that was created or deleted."""
    if os.path.isfile(path):
        return False
    return any(pattern.may_lie_below(parts) for pattern in (*tree.files, *tree.members))


def _above(path: str) -> Iterable[str]:
    folder = os.path.dirname(path)
    while folder != path:
        yield folder
        path, folder = folder, os.path.dirname(folder)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


STEP_MS = 20
"""How often what came is looked at, and how long nothing may come before it is handed on."""
MAX_STEPS_MS = 100
"""In a stream of changes without a pause it is handed on after this time."""
_WAIT_MS = 60_000

Changed = Callable[[Collection[str]], None]


class Notified:
    """Watches some folders, all deep or none. Hands changed paths on in a thread of its own until it is closed."""

    def __init__(self, folders: Sequence[str], *, is_deep: bool, changed: Changed) -> None:
        """Raises OSError or RuntimeError where the system cannot watch them all: a limit, or one that is gone."""
        from watchfiles._rust_notify import RustNotify

        self.folders = tuple(folders)
        self.trouble = ""
        """Why it ended by itself; "" while it continues."""
        self._changed = changed
        self._real = {real: folder for folder in folders if (real := os.path.realpath(folder)) != folder}
        self._stop = threading.Event()
        self._notify = RustNotify(list(folders), False, False, 0, is_deep, True)
        self._thread = threading.Thread(target=self._run, daemon=True, name="watching")
        self._thread.start()

    def close(self) -> None:
        """End. No path is handed on after this."""
        self._stop.set()
        self._thread.join(5.0)

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                told = self._notify.watch(MAX_STEPS_MS, STEP_MS, _WAIT_MS, self._stop)
                if isinstance(told, set) and not self._stop.is_set():
                    self._changed({self._as_watched(path) for _kind, path in told})
        except (OSError, RuntimeError) as error:  # the watcher of the system broke: who made this makes another
            self.trouble = f"{type(error).__name__}: {error}"
        finally:
            self._notify.close()

    def _as_watched(self, path: str) -> str:
        """Return a path as below the watched folder: some systems tell of it by its real place."""
        if not self._real or path.startswith(tuple(f"{folder}{os.sep}" for folder in self.folders)):
            return path
        for real, folder in self._real.items():
            if path == real or path.startswith(real + os.sep):
                return folder + path[len(real) :]
        return path


EVERY_S = 2.0
_SHARE = 20
"""Looking takes at most one part in so many of the time: a large tree is looked at less often."""
MAX_FILES = 200_000
"""Of one folder. What lies beyond is found by the pass over everything."""
_FileState = tuple[int, int, int]


class Polled:
    """Polls folders in a thread of its own until it is closed. Does not report what exists at the start."""

    def __init__(self, folders: Collection[Watched], changed: Callable[[Collection[str]], None]) -> None:
        self.folders = tuple(folders)
        self._changed = changed
        self._stop = threading.Event()
        self._states = {watched.folder: _listed(watched) for watched in folders}
        self._thread = threading.Thread(target=self._run, daemon=True, name="polling")
        self._thread.start()

    def close(self) -> None:
        """End. No path is handed on after this."""
        self._stop.set()
        self._thread.join(5.0)

    def _run(self) -> None:
        pause = EVERY_S
        while not self._stop.wait(pause):
            began = time.monotonic()
            found = self._look()
            pause = max(EVERY_S, _SHARE * (time.monotonic() - began))
            if found and not self._stop.is_set():
                self._changed(found)

    def _look(self) -> set[str]:
        found: set[str] = set()
        for watched in self.folders:
            if self._stop.is_set():
                break
            if not os.path.exists(watched.folder):
                continue  # not there now: what was in it is neither changed nor deleted
            before, now = self._states[watched.folder], _listed(watched)
            found.update(path for path, state in now.items() if before.get(path) != state)
            found.update(before.keys() - now.keys())
            self._states[watched.folder] = now
        return found


def _listed(watched: Watched) -> dict[str, _FileState]:
    """Return the files of a folder with their size, time and number. What cannot be listed is left out."""
    found: dict[str, _FileState] = {}
    if os.path.isfile(watched.folder):  # users may name a file
        with suppress(OSError):
            info = os.stat(watched.folder)
            found[watched.folder] = (info.st_size, info.st_mtime_ns, info.st_ino)
        return found
    stack = [watched.folder]
    while stack and len(found) < MAX_FILES:
        with suppress(OSError), os.scandir(stack.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        if watched.is_deep:
                            stack.append(entry.path)
                        continue
                    info = entry.stat()
                    found[entry.path] = (info.st_size, info.st_mtime_ns, info.st_ino)
    return found


How = Literal["notified", "polled", "absent"]
_FolderIdentity = tuple[int, int]


class WatchedFolder(msgspec.Struct, frozen=True):
    """A folder and how its changes are noticed. reason: why it is polled, "" elsewhere."""

    folder: str
    agents: tuple[str, ...]
    how: How
    reason: str = ""


class FolderWatcher:
    """Passes changed paths on, from threads of its own. A folder means that anything in it may have changed.

    `watch` and `look` belong to one thread; any may read `folders`.
    """

    def __init__(
        self, changed: Callable[[Collection[str]], None], *, is_polling: bool = False,
        file_systems: Callable[[], FileSystems] = FileSystems,
    ) -> None:  # fmt: skip
        """is_polling: ask the system for no notifications."""
        self._changed = changed
        self._is_polling = is_polling
        self._file_systems = file_systems
        self._wanted: tuple[Watched, ...] = ()
        self._seen: dict[str, _FolderIdentity] = {}
        self._groups: dict[bool, Notified] = {}
        self._refused: dict[bool, str] = {}
        self._polled: Polled | None = None
        self._lock = threading.Lock()
        self._told: tuple[WatchedFolder, ...] = ()

    def watch(self, folders: Sequence[Watched]) -> None:
        """Watch these from now on, instead of the previous ones. Changes during this call are reported too.

        Tries again what the system refused before.
        """
        is_new = tuple(folders) != self._wanted
        self._wanted = tuple(folders)
        self._look(is_anew=is_new or bool(self._refused))

    def look(self) -> None:
        """Detect folders that were created, deleted or replaced, and watch the existing ones. Cheap; call it often."""
        self._look(is_anew=False)

    def _look(self, *, is_anew: bool) -> None:
        seen = {w.folder: found for w in self._wanted if (found := _folder_identity(w.folder)) is not None}
        broken = [group for group in self._groups.values() if group.trouble]
        if seen == self._seen and not broken and not is_anew:
            return
        fresh = {folder for folder, identity in seen.items() if self._seen.get(folder) != identity}
        for group in broken:
            fresh.update(group.folders)
        file_systems = self._file_systems()
        remote = {w.folder for w in self._wanted if w.folder in seen and file_systems.is_remote(w.folder)}
        self._seen = seen
        to_poll = [w for w in self._wanted if w.folder in seen and (self._is_polling or w.folder in remote)]
        for is_deep in (True, False):
            to_notify = [
                w.folder for w in self._wanted if w.is_deep == is_deep and w.folder in seen and w not in to_poll
            ]
            if not self._notify(is_deep, to_notify, anew=bool(fresh.intersection(to_notify))):
                to_poll += [w for w in self._wanted if w.folder in to_notify]
        self._poll(to_poll)
        self._tell(remote)
        if fresh:
            self._changed(fresh)

    def folders(self) -> tuple[WatchedFolder, ...]:
        """Return every folder of the plan and how it is watched."""
        with self._lock:
            return self._told

    def close(self) -> None:
        """Watch nothing any more."""
        for group in self._groups.values():
            group.close()
        self._groups = {}
        self._poll([])
        self._seen = {}

    def _notify(self, is_deep: bool, folders: Sequence[str], *, anew: bool) -> bool:
        """Subscribe a group to the system's notifications; False if that fails. The old one ends when the new one
        exists.
        """
        before = self._groups.get(is_deep)
        if before is not None and not before.trouble and not anew and before.folders == tuple(folders):
            return True
        made: Notified | None = None
        self._refused.pop(is_deep, None)
        try:
            made = Notified(folders, is_deep=is_deep, changed=self._changed) if folders else None
        except FileNotFoundError:
            self._seen = {}  # one is gone since it was seen: the next look finds it absent
        except (OSError, RuntimeError, ImportError) as error:
            self._refused[is_deep] = f"{type(error).__name__}: {error}"
        if before is not None:
            self._groups.pop(is_deep).close()
        if made is not None:
            self._groups[is_deep] = made
        return made is not None or not folders

    def _poll(self, folders: list[Watched]) -> None:
        before = self._polled
        if before is not None and before.folders == tuple(folders):
            return
        self._polled = Polled(folders, self._changed) if folders else None
        if before is not None:
            before.close()

    def _tell(self, remote: Collection[str]) -> None:
        polled = {w.folder for w in self._polled.folders} if self._polled is not None else set()
        told = []
        for w in self._wanted:
            if w.folder not in self._seen:
                told.append(WatchedFolder(w.folder, w.agents, "absent"))
            elif w.folder not in polled:
                told.append(WatchedFolder(w.folder, w.agents, "notified"))
            else:
                reason = "a file system that others may change" if w.folder in remote else "by configuration"
                told.append(WatchedFolder(w.folder, w.agents, "polled", self._refused.get(w.is_deep) or reason))
        with self._lock:
            self._told = tuple(told)


def _folder_identity(folder: str) -> _FolderIdentity | None:
    """Return what distinguishes a folder from another one of the same name, None without one."""
    try:
        info = os.stat(folder)
    except (OSError, ValueError):
        return None
    return (info.st_dev, info.st_ino)
