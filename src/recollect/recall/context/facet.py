"""`memory.context`: the block that a hook gives to an agent, and the log of its use.

A session's start waits for this: it loads neither the search engine nor the archive nor the writer, and it never fails.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recollect.clock import now_us
from recollect.errors import RecollectError
from recollect.files import write_file
from recollect.paths import DATABASE_NAME
from recollect.recall.context.builder import ContextBlock, block_of, block_of_files, build, room_of
from recollect.recall.context.lines import ContextEvent, ContextRequest, folder_of
from recollect.recall.context.person_files import person_files
from recollect.recall.context.prepare_blocks import DAMAGE
from recollect.store.audit import ContextLogEntry
from recollect.store.context_reader import RecentReader
from recollect.wire import firings_folder

if TYPE_CHECKING:
    from recollect.config import ContextConfig
    from recollect.index.text.shards import TextIndex
    from recollect.recall.answers import SearchAnswer
    from recollect.recall.context.context_use import RecallStats, ShownBlock
    from recollect.recall.context.person_files import Begun

BUDGET_TOKENS = 1200
"""What `[context] budget_tokens` is where the configuration says nothing."""


class ContextFacet:
    """Builds blocks over one home and keeps the log of them. Opened and closed for every question; any thread."""

    def __init__(
        self, home: Path, env: Mapping[str, str], *, search: Callable[[str], SearchAnswer] | None = None,
        settings: ContextConfig | None = None, index: Callable[[], TextIndex] | None = None,
    ) -> None:  # fmt: skip
        """search: answers a per-prompt question; None: prompts are not answered. settings: None: the defaults. index:
        in which is found what was said later; None: nothing is, for a process that has no time to open it.
        """
        self._home = home
        self._env = env
        self._search = search
        self._index = index
        soul, user = (settings.soul_file, settings.user_file) if settings is not None else ("", "")
        self._files = person_files(home, env, soul=soul, user=user)

    def block(
        self, *, cwd: str = "", event: ContextEvent = "start", session: str = "", prompt: str = "",
        budget: int = BUDGET_TOKENS, agent: str = "",
    ) -> ContextBlock:  # fmt: skip
        """Return what there is to say; an empty block where that is nothing, or where the memory cannot be read.

        cwd: where the agent works. session: the uid of the present session, which is left out at its start and asked
        after a compaction. budget: LLM tokens. agent: who is given it; "": the session's. Never raises for what is
        stored: `notes` then has the error's code.
        """
        if not (self._home / DATABASE_NAME).exists():
            return block_of_files(() if event == "prompt" else self._files, budget=budget)
        try:
            reader = RecentReader(self._home)
        except DAMAGE as error:
            return ContextBlock(notes=(_code(error),))
        try:
            folder = folder_of(cwd, self._env)
            asked = ContextRequest(
                reader, folder, session, room=room_of(budget), agent=agent, now_us=now_us(), index=self._index
            )
            if event == "prompt":
                return self._about_prompt(asked, prompt, budget)
            return block_of(asked, event=event, budget=budget, files=self._files)
        except DAMAGE as error:
            return ContextBlock(notes=(_code(error),))
        finally:
            reader.close()

    def record(self, block: ContextBlock, *, agent: str, event: str, session: str, took_us: int) -> bool:
        """Log that an agent was given a block, or that there was nothing to say. Returns False where it is lost.

        Straight to the database, without the ingest lock; where that is locked, read-only or gone, into the spool.
        """
        firing = ContextLogEntry(
            now_us(), agent, session, event, block.repo, block.citations, block.identifiers,
            block.tokens if block.text else 0, block.left_out, took_us, block.notes[0] if block.notes else "",
        )  # fmt: skip
        from recollect.store.audit import append_firings

        try:
            append_firings(self._home, [firing])
        except RecollectError:
            return self._spool(firing)
        return True

    def stats(self) -> RecallStats:
        """Return how often agents got context, used it, and asked by themselves.

        Raises StoreError and its subclasses.
        """
        from recollect.recall.context.context_use import recall_stats
        from recollect.store.audit import count_own_calls, read_firings

        self.take_spooled()
        waiting = [firing for _path, firing in self._spooled()]
        if not (self._home / DATABASE_NAME).exists():
            return recall_stats(waiting, [], None)
        reader = RecentReader(self._home)
        try:
            return recall_stats([*read_firings(self._home), *waiting], count_own_calls(self._home), reader)
        finally:
            reader.close()

    def shown(self, *, session: str = "", limit: int = 20) -> tuple[ShownBlock, ...]:
        """Return the last context given to agents, newest first, and whether it was useful. session: a uid, "": all.

        Raises StoreError and its subclasses.
        """
        from recollect.recall.context.context_use import shown_of
        from recollect.store.audit import read_firings

        self.take_spooled()
        waiting = [firing for _path, firing in self._spooled() if session in ("", firing.session)]
        if not (self._home / DATABASE_NAME).exists():
            return shown_of(waiting[::-1][:limit], None)
        reader = RecentReader(self._home)
        try:
            found = [*read_firings(self._home, session=session, limit=limit), *waiting]
            return shown_of(sorted(found, key=lambda firing: -firing.at)[:limit], reader)
        finally:
            reader.close()

    def begin(self, *, is_dry_run: bool = False) -> Begun:
        """Create the person's own files if missing, so that there is something to edit. Raises StoreError."""
        from recollect.recall.context.person_files import begin

        return begin(self._files, is_dry_run=is_dry_run)

    def _about_prompt(self, asked: ContextRequest, prompt: str, budget: int) -> ContextBlock:
        from recollect.recall.context.history import Prompted, question_of

        question = question_of(prompt)
        if self._search is None or not question or asked.folder is None:
            return ContextBlock()
        return build(asked, (Prompted(self._search(question)),), budget=budget)

    def _spool(self, firing: ContextLogEntry) -> bool:
        """Keep a firing as a file until it can be stored. Does not create a missing home."""
        folder = Path(firings_folder(str(self._home)))
        try:
            if not self._home.is_dir():
                return False
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_file(folder / f"{firing.at}-{os.getpid()}.json", msgspec.json.encode(firing), durable=False)
        except OSError:
            return False
        return True

    def _spooled(self) -> list[tuple[Path, ContextLogEntry]]:
        """Return what waits in the spool. A file that cannot be read is left where it is."""
        found: list[tuple[Path, ContextLogEntry]] = []
        for path in sorted(Path(firings_folder(str(self._home))).glob("*.json")):
            try:
                found.append((path, msgspec.json.decode(path.read_bytes(), type=ContextLogEntry)))
            except (OSError, ValueError):
                continue
        return found

    def take_spooled(self) -> None:
        """Store what waits in the spool; what cannot be stored now waits on."""
        from recollect.store.audit import append_firings

        waiting = self._spooled()
        if not waiting:
            return
        try:
            append_firings(self._home, [firing for _path, firing in waiting])
        except RecollectError:
            return
        for path, _firing in waiting:
            path.unlink(missing_ok=True)


def _code(error: Exception) -> str:
    return error.code if isinstance(error, RecollectError) else type(error).__name__
