"""Detects changes cheaply: compares file states with those of the last full look.

A process that ends leaves its look in the home, `run/look.json`, so that the next command can compare instead of
looking at everything. Whoever is about to write with the ingest lock takes that file away first, see `take_away`: a
look that is there was followed by no other writer, and by none that was killed.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from recollect.clock import now_us
from recollect.files import remove_drafts, write_cache
from recollect.paths import RESTORE_FOLDER
from recollect.ready_blocks import FOLDER as READY_FOLDER
from recollect.ready_blocks import PROGRAM
from recollect.wire import FIRINGS_FOLDER, RUN_FOLDER

# Every command compares; what only a full look needs is imported there.
if TYPE_CHECKING:
    from recollect.agents.base import Adapter
    from recollect.config import Config
    from recollect.store.home import Home
    from recollect.store.reader import Reader

EVERYTHING_EVERY_S = 60.0
"""Everything is looked at this often all the same: a file may lie behind a link that is not followed here."""
KEPT_FOR_US = 3600 * 1_000_000
"""A look of another process counts so long, and only where no folder was a link."""
LOOK_NAME = "look.json"
_FOLDERS_OF_PACKAGES = ("site-packages", "dist-packages")
"""What is installed there may bring agents."""
_VARIABLE = re.compile(r"\$\{?(\w+)")
_State = tuple[int, int, int]
_States = dict[str, _State | None]


class AgentFound(msgspec.Struct, frozen=True, array_like=True):
    """What a sync that found nothing new says of an agent, see `AgentSync`."""

    agent: str
    roots: tuple[str, ...]
    found: int
    unchanged: int
    warnings: tuple[str, ...]


class Quiet(msgspec.Struct, frozen=True):
    """What a sync said that had nothing to do: until files change, so does the next one.

    due_at: when there is something to do all the same, UTC microseconds, None: not for all that is known. waiting:
    sessions under way. files: more files that it goes by.
    """

    agents: tuple[AgentFound, ...]
    waiting: int
    due_at: int | None
    files: tuple[str, ...]


class _Kept(msgspec.Struct, frozen=True):
    """A look as another process finds it. own: "" until the process that looked closed the memory. last_change: of the
    database then, which an older copy does not have. beside: what a quiet sync goes by besides. repositories: a hash.

    Of paths of transcripts only a hash is kept. token: tells looks apart. variables: of the environment, on which
    it depends where agents' folders are.
    """

    token: str
    program: str
    config: str
    variables: tuple[str, ...]
    environment: str
    folders: tuple[tuple[str, bool], ...]
    repositories: str
    sources: str
    looked_at: int
    last_change: int
    own: str = ""
    beside: str = ""
    quiet: Quiet | None = None


LookedPlaces = tuple[list[tuple[str, bool]], list[str]]
"""Folders, and whether with all below; and the variables of the environment that say where these are."""


class LookContext(NamedTuple):
    """What determines the places that are examined. known: those of the latest repositories, made once a process.

    looks: what a comparison with the look of another process found, by the repositories: whoever looks at everything
    because of it need not look again.
    """

    home: Home
    config: Config
    env: Mapping[str, str]
    known: dict[tuple[str, ...], LookedPlaces]
    looks: dict[str, QuickLook]


class QuickLook:
    """The files and folders of agents, and the memory's own, as they were. Make it before a look at everything; say
    `done` when that has ended well."""

    def __init__(self, context: LookContext, folders: Sequence[tuple[str, bool]], variables: Sequence[str]) -> None:
        """folders: of agents, and whether with all below. variables: of the environment, which say where these are."""
        self._context = context
        self._home = context.home
        self._folders = tuple(folders)
        self._variables = tuple(variables)
        self._sources, self._has_links = _states(folders)
        self._own: _States = {}
        self._made_at = time.monotonic()
        self._kept: _Kept | None = None
        self.repositories: Sequence[str] = ()
        """Those of the sessions that were known; there are agents that write into them."""

    @property
    def hash(self) -> str:
        """What the state of agents' files and folders comes to."""
        return _hash(sorted(self._sources.items()))

    def done(self) -> None:
        """Take note of the memory's own files, which that look has written."""
        self._own = _own_states(self._home)

    def is_same(self) -> bool:
        """Return whether everything is as it was, as far as files tell."""
        if time.monotonic() - self._made_at > EVERYTHING_EVERY_S or _has_spooled(self._home):
            return False
        return all(_state(path) == state for path, state in self._sources.items()) and (
            _own_states(self._home) == self._own
        )

    def keep(self, quiet: Quiet | None, *, last_change: int) -> None:
        """Leave this look for other processes, with the ingest lock held. It counts once `finish` was called."""
        if self._has_links:
            return
        self._kept = _Kept(
            token=os.urandom(8).hex(), program=PROGRAM, config=_config_of(self._context), variables=self._variables,
            environment=_environment_of(self._context.env, self._variables), folders=self._folders,
            repositories=_hash(self.repositories), sources=self.hash, looked_at=now_us(), last_change=last_change,
            quiet=quiet,
        )  # fmt: skip
        _write(self._home, self._kept)

    def finish(self) -> None:
        """Make the finished look valid. Call it when the memory is closed, which changes its own files."""
        kept, self._kept = self._kept, None
        if kept is None:
            return
        own, beside = _own_of(self._home), _beside_of(self._home, kept.quiet)
        if _read(self._home) == kept:  # nobody has begun to write since
            _write(self._home, msgspec.structs.replace(kept, own=own, beside=beside))


class LastLook(NamedTuple):
    """The look of another process, where everything is still as it was then. quiet: what a sync then says; None where
    one has something to do."""

    look: QuickLook
    quiet: Quiet | None


def quick_look(context: LookContext, reader: Reader) -> QuickLook | None:
    """Return how everything is now; None where files do not tell: folders of documents have rules of their own."""
    from recollect.ingest.sources import repositories_of
    from recollect.store.documents import has_folders

    if has_folders(context.home.folder):
        return None
    repositories = repositories_of(reader)
    look = context.looks.pop(_hash(repositories), None) or QuickLook(context, *_places_of(context, tuple(repositories)))
    look.repositories = repositories
    return look


def _places_of(context: LookContext, repositories: tuple[str, ...]) -> LookedPlaces:
    from recollect.agents.registry import adapters_with
    from recollect.capture.watch import WatchPlan

    home, config, env, known, _looks = context
    places = known.get(repositories)
    if places is None:
        adapters = [a for slug, a in adapters_with(config.formats()).items() if config.agent(slug).enabled]
        plan = WatchPlan(adapters, config, env, repositories=repositories, home=str(home.folder))
        # The spool is looked at by itself: a pass changes it, and leaves nothing there that the next one takes.
        folders = [(watched.folder, watched.is_deep) for watched in plan.folders if watched.folder != str(home.spool)]
        known.clear()
        places = known[repositories] = folders, variables_of(adapters, context)
    return places


def last_look(context: LookContext, last_change: Callable[[], int]) -> LastLook | None:
    """Return the last look that another process left; None where something changed since, or it does not count.

    last_change: tells that of the database.
    """
    kept = _read(context.home)
    now = now_us()
    context.looks.clear()
    if kept is None or not kept.own or not 0 <= now - kept.looked_at < KEPT_FOR_US or _has_spooled(context.home):
        return None
    is_ours = (kept.program, kept.config) == (PROGRAM, _config_of(context))
    if not is_ours or kept.environment != _environment_of(context.env, kept.variables):
        return None
    look = QuickLook(context, kept.folders, kept.variables)
    if look.hash != kept.sources or _own_of(context.home) != kept.own or last_change() != kept.last_change:
        context.looks[kept.repositories] = look
        return None
    look.done()
    quiet = kept.quiet
    is_due = quiet is None or (quiet.due_at is not None and quiet.due_at <= now)
    return LastLook(look, None if is_due or _beside_of(context.home, quiet) != kept.beside else quiet)


def take_away(home: Path) -> None:
    """Have no look count any more: somebody is about to write with the ingest lock."""
    with suppress(OSError):
        (home / RUN_FOLDER / LOOK_NAME).unlink(missing_ok=True)


def _read(home: Home) -> _Kept | None:
    try:
        return msgspec.json.decode((home.folder / RUN_FOLDER / LOOK_NAME).read_bytes(), type=_Kept)
    except (OSError, ValueError):
        return None


def _write(home: Home, kept: _Kept) -> None:
    folder = home.folder / RUN_FOLDER
    write_cache(folder / LOOK_NAME, msgspec.json.encode(kept))
    with suppress(OSError):
        remove_drafts(folder)  # of caches that are seldom written, as a killed process left them


def _has_spooled(home: Home) -> bool:
    """Return whether hooks left something that is not ingested."""
    with suppress(OSError), os.scandir(home.spool) as entries:
        return any(not entry.is_dir(follow_symlinks=False) for entry in entries)
    return False


def _states(folders: Sequence[tuple[str, bool]]) -> tuple[_States, bool]:
    """Return the state of all that is in some folders, and of the folders: what comes or goes changes these. And
    whether there are links to folders, which are not followed."""
    found: _States = {}
    has_links = False
    for top, is_deep in folders:
        stack = [top]
        while stack:
            folder = stack.pop()
            found[folder] = _state(folder)
            if found[folder] is None:  # most agents are not on a machine
                continue
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        found[entry.path] = _state(entry.path)
                        has_links = has_links or (is_deep and entry.is_symlink() and entry.is_dir())
                    elif is_deep:
                        stack.append(entry.path)
    return found, has_links


def _state(path: str) -> _State | None:
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size, info.st_ino


def _own_states(home: Home) -> _States:
    """Return the state of the memory's own files."""
    return _database_states(home) | _folder_states(home)


def _database_states(home: Home) -> _States:
    """Return the state of the database. An empty log is as good as none."""
    log = f"{home.database}-wal"
    state = _state(log)
    return {str(home.database): _state(str(home.database)), log: state if state is not None and state[1] else None}


def _folder_states(home: Home) -> _States:
    """Return the state of what is beside the database, of the index that of folders."""
    paths = [home.keys, home.rebuild, home.folder / RESTORE_FOLDER, home.index, *home.index.glob("*/")]
    found, _ = _states([(str(home.archive), False), (str(home.archive / "packs"), False)])
    return found | {path: _state(path) for path in map(str, paths)}


def _own_of(home: Home) -> str:
    """Return what of the memory's own files a look of another process goes by.

    Of the database only which it is: what else is written there (tags, what an agent was given) adds no source.
    """
    database = _state(str(home.database))
    return _hash([database and database[2], sorted(_folder_states(home).items())])


def _beside_of(home: Home, quiet: Quiet | None) -> str:
    """Return the state of what a sync looks after besides: whatever was written, ready blocks, what hooks gave, and a
    person's files."""
    files = quiet.files if quiet is not None else ()
    paths = (str(home.folder / READY_FOLDER), str(home.spool / FIRINGS_FOLDER), *files)
    return _hash([sorted(_database_states(home).items()), [_state(path) for path in paths]])


def _config_of(context: LookContext) -> str:
    return _hash(msgspec.json.encode(context.config))


def _environment_of(env: Mapping[str, str], variables: Iterable[str]) -> str:
    """Return what decides where agents' folders are and which agents there are."""
    packages = [path for path in sys.path if os.path.basename(path) in _FOLDERS_OF_PACKAGES]
    return _hash([[env.get(name) for name in variables], [(path, _state(path)) for path in packages]])


def variables_of(adapters: Iterable[Adapter], context: LookContext) -> list[str]:
    """Return the variables of the environment that say where what is looked at lies."""
    own = [root.variable for adapter in adapters for root in adapter.facts.roots]
    configured = msgspec.json.encode(context.config).decode()
    texts = [configured, *(context.env.get(name, "") for name in own)]
    named = [name for text in texts if "$" in text for name in _VARIABLE.findall(text)]
    return sorted({"HOME", "USERPROFILE", *filter(None, own), *named})


def _hash(value: object) -> str:
    return blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
