"""`memory.maintenance.forgetting`: deletes a selection from the memory for good."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Literal

import msgspec

from recollect.agents.registry import adapters_with
from recollect.archive.keys import load_keys
from recollect.capture.discover import roots_of
from recollect.erasure.forget import Opened, StageProgress, forget_selection, looking, must_spare, plan_of
from recollect.erasure.reports import ForgetReport, ForgetSelection, ForgottenList, TombstoneGroup
from recollect.erasure.selection import Selector, compiled, with_home
from recollect.errors import RecollectError, StoreLocked, UsageError
from recollect.ingest.distill import DistillingFacet
from recollect.ingest.learnings.keep import overruled
from recollect.ingest.learnings.run import LearnFacet
from recollect.ingest.operations import take_changes
from recollect.ingest.restore_swap import kept_memories
from recollect.maintenance.backup.manifest import last_backup
from recollect.memory.facets import HomeFacet
from recollect.store.erasure.select_rows import SelectionReader
from recollect.store.rows import EventFilter

_WAIT_S = 20.0
"""How long another process is waited for that is ingesting; a daemon does that for moments."""
_ASK_AGAIN_S = 0.2
_LEARN_FOR_S = 10.0
"""What the sessions that stay teach is read at once for so long; the next sync continues."""


class ForgettingFacet(HomeFacet):
    """Plans and carries out forgetting, and reports how much was ever forgotten."""

    def plan(
        self, selection: ForgetSelection, *, progress: StageProgress | None = None, is_dry: bool = True
    ) -> ForgetReport:
        """Return what would be forgotten. Ingests changes first, as any read does, and changes nothing else.

        is_dry: False refuses what `run` refuses.

        Raises UnknownName for a session or a repository, KeyUnavailable, StoreError, ArchiveError; also as `check`.
        """
        started = time.perf_counter()
        self.check(selection)
        notes = self._fresh()
        selection = self._named(selection)
        if self._is_empty():
            return ForgetReport("nothing", notes=notes)
        report = self._look(selection, progress)
        if report.whole_sessions and report.whole_sessions == self._home.reader().sessions(EventFilter(), limit=1)[1]:
            if not is_dry:
                must_spare(selection, self._home.folders, report.whole_sessions)
            report.notes.append("these are all sessions of the memory")
        report.notes += [*self._why_nothing(selection, report), *notes, *self._elsewhere()]
        report.seconds = time.perf_counter() - started
        return report

    def _look(self, selection: ForgetSelection, progress: StageProgress | None) -> ForgetReport:
        home = self._home.folders
        reader, key = self._home.reader(), load_keys(home.keys).forget_key
        with self._home.archive() as archive, SelectionReader(home.folder) as stored:
            selector = Selector(stored, archive, reader, key, progress=looking(progress))
            return plan_of(selector, stored, reader, home, selection, overruling=overruled, folders=self._folders())

    def run(self, selection: ForgetSelection, *, progress: StageProgress | None = None) -> ForgetReport:
        """Forget a selection. Ingests changes first, so that none of it returns later.

        Sessions that lose records but stay are analysed again. After an interruption the next writing command
        continues. State "busy": another process held the lock, and nothing was done. Raises as `plan`; also DiskFull
        and IndexUnavailable, and then it is unfinished.
        """
        started = time.perf_counter()
        self.check(selection)
        notes = self._fresh()
        selection = self._named(selection)
        if self._is_empty():
            return ForgetReport("nothing", notes=notes)
        try:
            with self._opened() as opened:
                report, again = forget_selection(
                    opened,
                    selection,
                    overruling=overruled,
                    judge=self._judge,
                    tell=progress or _untold,
                    folders=self._folders(),
                )
        except StoreLocked as error:
            return ForgetReport("busy", notes=[*notes, str(error)])
        notes += self._why_nothing(selection, report)
        if report.records:
            notes += self._fresh()  # what is left of those sources is derived again
        if again:
            done = DistillingFacet(self._home).run(sessions=again)
            report.notes += done.notes
        if report.state == "done":
            report.notes += LearnFacet(self._home).run(max_seconds=_LEARN_FOR_S).notes
        with suppress(RecollectError):  # what is ready is an addition, and made by the next sync
            self._home.ready().make()
        report.notes += [*notes, *self._elsewhere()]
        report.seconds = time.perf_counter() - started
        return report

    def _judge(self, learning_id: str, verdict: Literal["retire", "done"]) -> None:
        learn = LearnFacet(self._home)
        if verdict == "done":
            learn.done(learning_id, reason="what showed that it is done was forgotten")
        else:
            learn.retire(learning_id, reason="what took it back was forgotten")

    def listed(self) -> ForgottenList:
        """Return how much was ever forgotten and when, but not what."""
        counts: dict[tuple[int, str], int] = {}
        self._home.reader()  # makes an empty memory if there is none
        with SelectionReader(self._home.home) as stored:
            for kind, at in stored.tombstones():
                counts[at, kind] = counts.get((at, kind), 0) + 1
        groups = (TombstoneGroup(at, kind, n) for (at, kind), n in sorted(counts.items(), reverse=True))
        return ForgottenList(tuple(groups))

    def _is_empty(self) -> bool:
        """Nothing was ever ingested or noted: there is no key either."""
        reader = self._home.reader()
        return next(reader.ledgers(), None) is None and not reader.entries.counts()

    def check(self, selection: ForgetSelection) -> None:
        """Raise UsageError for an empty selection, an invalid pattern, or one that says nothing."""
        if selection.is_empty:
            raise UsageError("no option says what to forget", hint="name a session, a repository, a time …")
        if selection.pattern and _says_nothing(selection.pattern):
            is_alone = selection == ForgetSelection(pattern=selection.pattern)
            what = "it would erase everything" if is_alone else "it selects nothing in particular"
            hint = "write more of what you mean, " if is_alone else "write more of what you mean, or leave it out"
            if is_alone:
                hint += f"or name a repository with --repo; to erase the whole memory, delete {self._home.home}"
            raise UsageError(f"{selection.pattern!r} matches any text, so {what}", hint=hint)

    def _named(self, selection: ForgetSelection) -> ForgetSelection:
        uid = self._home.session(selection.session).session_uid if selection.session else ""
        return msgspec.structs.replace(selection, session=uid, repo=with_home(selection.repo, self._home.env))

    def _why_nothing(self, selection: ForgetSelection, report: ForgetReport) -> list[str]:
        """Say why nothing was meant: the case of letters. Raises UnknownName where no repository has the name."""
        if report.state != "nothing":
            return []
        if selection.repo and not re.search(r"[/\\*?]", selection.repo):
            self._home.known_names().repository(selection.repo)
        wider = msgspec.structs.replace(selection, pattern=f"(?i){selection.pattern}")
        with suppress(UsageError):  # flags stand only at the beginning
            if selection.pattern and self._look(wider, None).state != "nothing":
                return [f"upper and lower case count: {wider.pattern!r} would match"]
        return []

    def _folders(self) -> set[str]:
        config, env = self._home.config, self._home.env
        known = adapters_with(config.formats()).values()
        return {root.path for agent in known for root in roots_of(agent, config, env) if root.is_home}

    def _elsewhere(self) -> Iterator[str]:
        """Yield a note for each copy of the memory that is known: forgetting does not reach into it."""
        for folder in kept_memories(self._home.home):
            yield f"{folder}, the memory that a restore kept, may still contain it: delete this folder"
        if last := last_backup(self._home.home):
            anew = f"`recollect backup {shlex.quote(last.target)}`"
            yield f"the backup {last.target} may still contain it: {anew} replaces it; delete older backups"

    def _fresh(self) -> list[str]:
        try:
            take_changes(self._home, None)
        except StoreLocked:
            return ["another process is ingesting; what it has not stored yet is not included"]
        except RecollectError as error:
            return [f"could not ingest what is new first: {error}"]
        return []

    @contextmanager
    def _opened(self) -> Iterator[Opened]:
        ends_at = time.monotonic() + _WAIT_S
        with ExitStack() as stack:
            while True:
                try:
                    opened = stack.enter_context(self._home.writing())
                    break
                except StoreLocked:
                    if time.monotonic() > ends_at:
                        raise
                    time.sleep(_ASK_AGAIN_S)
            yield opened


_ANYTHING = ("kestrel", "BOWL", "0417", "語Ж", "-;")
"""Texts that have no character in common."""


def _says_nothing(pattern: str) -> bool:
    """Return whether a pattern matches the empty text, or texts that have nothing in common."""
    found = compiled(pattern)
    return bool(found.search("")) or sum(bool(found.search(text)) for text in _ANYTHING) > 1


def _untold(_doing: str, _done: int, _total: int) -> None:
    """Nobody asked how far it is."""
