"""Prepares session-start blocks after a sync, so that the hook can answer at once. See decision 0021."""

from __future__ import annotations

import contextlib
import json
import os
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recollect import ready_blocks as ready
from recollect.clock import now_us
from recollect.config import Config, ContextConfig, parse_config
from recollect.errors import ConfigError, RecollectError, StoreLocked
from recollect.files import write_file
from recollect.paths import DATABASE_NAME, HOME_VARIABLE, config_text
from recollect.store.lock import IngestLock

# Every refresh settles, and finds nothing to do most of the time: what makes blocks is imported when one is made.
if TYPE_CHECKING:
    from recollect.index.text.shards import TextIndex
    from recollect.recall.context.builder import ContextBlock
    from recollect.recall.context.person_files import PersonFile
    from recollect.store.context_reader import RecentReader
    from recollect.store.context_rows import Folder

DAMAGE = (RecollectError, msgspec.MsgspecError, OSError, ValueError)
"""All that a database, a file or a folder can do to a reader."""
NEWEST_SESSIONS = 40
"""Their folders are those that a session may start in."""
AT_ONCE = 8
"""Blocks made after one sync, of the folders that were worked in last."""
KEPT = 64
MAX_LOOKED_AT = 32
"""A block that depends on more folders being there or not is not worth looking at them all."""
MAX_VARIANTS = 8
"""Of a block for more agents with something of their own nothing is made ready."""
NO_AGENT = "*"
"""Stands for every agent that has nothing of its own."""


class ReadyBlocks:
    """The ready blocks of one home, as the memory keeps them."""

    def __init__(
        self, home: Path, settings: ContextConfig, env: Mapping[str, str], index: Callable[[], TextIndex]
    ) -> None:
        """env: the process's, in which `RECOLLECT_HOME` may name the home. index: has what was said later."""
        self._index = index
        self._home = home
        self._settings = settings
        self._env = env
        self._folder = home / ready.FOLDER

    def settle(self, withdrawn: bytes | None, touched: Collection[int]) -> None:
        """Put back the stamp that a writer took away, after the blocks are gone that its writing may have changed.

        The caller holds the ingest lock. withdrawn: the stamp, b"" if there was none, None where nothing was
        written. touched: numbers of the sessions that were. Raises what a damaged store or a full
        disk does (RecollectError, MsgspecError, OSError, ValueError): then there is no stamp, and no block holds.
        """
        trace = ready.trace_of(str(self._home))
        stamp = ready.read_stamp(str(self._home), data=withdrawn)
        configs = self._configs(stamp)
        if stamp is not None and stamp.values["settings"] == self._told() and configs:
            if withdrawn is None and configs == stamp.values["configs"]:
                return
            self._drop_touched(touched)
        else:
            ready.take_away(str(self._home))
            self._drop_all()
        if configs:
            self._write_stamp(configs, trace)

    def make(self) -> None:
        """Make the missing blocks of the folders that were worked in last, some at a time.

        Without the ingest lock; it is taken for a moment at the end. Where another process changes the memory
        meanwhile, nothing is kept: that one makes them. Raises as `settle`.
        """
        stamp = ready.read_stamp(str(self._home))
        if stamp is None:
            return
        from recollect.store.context_reader import RecentReader

        reader = RecentReader(self._home)
        try:
            made = {path: block for folder, path in self._missing(reader) if (block := self._made(reader, folder))}
        finally:
            reader.close()
        if not made:
            return
        try:
            lock = IngestLock(self._home)
        except StoreLocked:
            return
        try:
            now = ready.read_stamp(str(self._home))
            if now is not None and now.data == stamp.data:
                for path, block in made.items():
                    _write(Path(path), block)
                self._drop_oldest()
        finally:
            lock.release()

    def _missing(self, reader: RecentReader) -> list[tuple[Folder, str]]:
        """Return the folders to make a block for, and where it goes."""
        from recollect.recall.context.lines import folder_of

        found: dict[str, Folder] = {}
        for cwd in reader.newest_folders(limit=NEWEST_SESSIONS):
            folder = folder_of(cwd, self._env) if os.path.isdir(cwd) else None
            if folder is None:
                continue
            path = ready.block_path(str(self._home), folder.path)
            block = ready.read_block(path) if path not in found else {}
            if block is None or (block and not ready.holds(block, folder.path, is_repository=folder.is_repository)):
                found[path] = folder
        return [(folder, path) for path, folder in found.items()][:AT_ONCE]

    def _made(self, reader: RecentReader, folder: Folder) -> bytes:
        """Return the file of a folder's block, b"" where there should be none."""
        from recollect.recall.context.person_files import person_files

        settings = self._settings
        if "$" in settings.soul_file + settings.user_file:  # the hook's environment may have another value
            return b""
        files = person_files(self._home, self._env, soul=settings.soul_file, user=settings.user_file)
        heads = {file.path: ready.head_of(file.path) for file in files}
        now = now_us()
        reader.looked_at.clear()
        block, until = self._block(reader, folder, files, agent=NO_AGENT, now_us=now)
        own = [a for a in reader.agents_told_apart(folder, now_us=now) if a != NO_AGENT]
        variants = {a: _told(self._block(reader, folder, files, agent=a, now_us=now)[0]) for a in own[:MAX_VARIANTS]}
        uids = reader.uids_in(folder)
        is_changed = any(ready.head_of(path) != head for path, head in heads.items())
        if len(reader.looked_at) > MAX_LOOKED_AT or len(own) > MAX_VARIANTS or is_changed:
            return b""
        return json.dumps(
            {
                "format": ready.FORMAT,
                "folder": folder.path,
                "is_repository": folder.is_repository,
                **_told(block),
                "repo": block.repo,
                "sessions": uids,
                "looked_at": reader.looked_at,
                "files": heads,
                "variants": variants,
                "until": until or 0,
            }
        ).encode()

    def _block(
        self, reader: RecentReader, folder: Folder, files: Sequence[PersonFile], *, agent: str, now_us: int
    ) -> tuple[ContextBlock, int | None]:
        """Return what an agent is given in a folder, and until when that holds."""
        from recollect.recall.context.builder import block_of, room_of
        from recollect.recall.context.lines import ContextRequest

        budget = self._settings.budget_tokens
        asked = ContextRequest(reader, folder, "", room=room_of(budget), agent=agent, now_us=now_us, index=self._index)
        return block_of(asked, event="start", budget=budget, files=files), asked.holds_until

    def _drop_touched(self, numbers: Collection[int]) -> None:
        if not numbers:
            return
        if ready.EVERY_FOLDER in numbers:
            self._drop_all()
            return
        from recollect.store.context_reader import RecentReader

        reader = RecentReader(self._home)
        try:
            for path in self._blocks():
                block = ready.read_block(str(path))
                if block is None or _is_concerned(reader, block, numbers):
                    path.unlink(missing_ok=True)
        finally:
            reader.close()

    def _drop_all(self) -> None:
        for path in self._blocks():
            path.unlink(missing_ok=True)

    def _drop_oldest(self) -> None:
        paths = sorted(self._blocks(), key=lambda path: path.stat().st_mtime_ns)
        for path in paths[: max(0, len(paths) - KEPT)]:
            path.unlink(missing_ok=True)

    def _blocks(self) -> Iterator[Path]:
        return (path for path in self._folder.glob("*.json") if path.name != ready.STAMP)

    def _configs(self, stamp: ready.Stamp | None) -> dict[str, str | None]:
        """Return the files a hook may read its configuration from, with their text, that say what this memory's does.

        That is the file in the home, and that of the user. What a stamp says of the same text is not read again.
        """
        elsewhere = {name: value for name, value in self._env.items() if name != HOME_VARIABLE}
        known = stamp.values["configs"] if stamp is not None and stamp.values["settings"] == self._told() else {}
        found: dict[str, str | None] = {}
        for env in ({**self._env, HOME_VARIABLE: str(self._home)}, elsewhere):
            path = os.path.abspath(config_text(env))
            with contextlib.suppress(OSError, ValueError, ConfigError):
                text = ready.config_text(path)
                is_known = isinstance(known, dict) and path in known and known[path] == text
                if is_known or _config(text).context == self._settings:
                    found[path] = text
        return found

    def _told(self) -> object:
        return msgspec.to_builtins(self._settings)

    def _write_stamp(self, configs: dict[str, str | None], trace: str) -> None:
        if not (self._home / DATABASE_NAME).exists():
            return
        values = ready.stamp_values(
            str(self._home), generation=os.urandom(8).hex(), settings=self._told(),
            configs=configs, trace=trace,
        )  # fmt: skip
        _write(self._folder / ready.STAMP, json.dumps(values).encode())


def _config(text: str | None) -> Config:
    return Config() if text is None else parse_config(tomllib.loads(text))


def _told(block: ContextBlock) -> dict[str, object]:
    """Return what of a block differs from agent to agent."""
    return {
        "text": block.text,
        "citations": block.citations,
        "identifiers": block.identifiers,
        "tokens": block.tokens if block.text else 0,
        "left_out": block.left_out,
    }


def _is_concerned(reader: RecentReader, block: Mapping[str, object], numbers: Collection[int]) -> bool:
    from recollect.store.context_rows import Folder

    path, uids = str(block["folder"]), block["sessions"]
    folder = Folder(path, (os.path.basename(path),), bool(block["is_repository"]))
    return not isinstance(uids, list) or reader.may_concern(folder, frozenset(uids), numbers)


def _write(path: Path, data: bytes) -> None:
    """Write a file that is whole as soon as it has its name, for its user alone."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_file(path, data, durable=False)
