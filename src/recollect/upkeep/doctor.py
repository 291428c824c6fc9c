"""Health, from checks that are run now. Every check can fail; none of them changes anything."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from recollect.agents.base import Adapter
from recollect.agents.registry import adapters_with, failures
from recollect.archive.archive import Archive
from recollect.archive.keys import load_keys
from recollect.capture.discover import discover, roots_of, shared_roots
from recollect.capture.expand import database_problems
from recollect.capture.files import read_head
from recollect.capture.folders import sort_out
from recollect.capture.hook_spool import BAD, REASONS, hook_spool
from recollect.config import Config
from recollect.errors import IndexUnavailable, RecollectError
from recollect.index.engine import shard_names
from recollect.index.vectors.files import kept_models
from recollect.index.vectors.vector_index import VectorCoverage
from recollect.paths import expand
from recollect.store.ports import Reader
from recollect.store.sqlite import quick_check
from recollect.upkeep.reports import Check, DistillHealth, DoctorReport
from recollect.upkeep.setup.checks import setup_checks
from recollect.upkeep.setup.finding import this_machine
from recollect.upkeep.setup.manifest import NAME as MANIFEST

OLDEST_PYTHON = (3, 11)
LONG_S = 24 * 3600
"""A session that could be analysed for so long and is not is worth a warning."""
_LOW_DISK_BYTES = 500_000_000


class Doctor:
    """Runs the checks of one home. `open_reader` may raise; that is a finding."""

    def __init__(
        self, folder: Path, config: Config, env: Mapping[str, str], open_reader: Callable[[], Reader], *,
        vectors: Callable[[], VectorCoverage | None], distilled: Callable[[], DistillHealth],
    ) -> None:  # fmt: skip
        self._folder = folder
        self._config = config
        self._known = adapters_with(config.formats())
        self._env = env
        self._open_reader = open_reader
        self._vectors = vectors
        self._distilled = distilled

    def run(self) -> DoctorReport:
        """Run every check and return what each found."""
        checks = list(self._checks())
        return DoctorReport(ok=not any(c.state == "fail" for c in checks), checks=tuple(checks))

    def _checks(self) -> Iterator[Check]:
        yield self._python()
        yield self._home()
        yield self._disk()
        if not (self._folder / "memory.db").exists():
            yield Check("memory", "warn", "nothing is stored yet", "run `recollect up --once`")
        else:
            yield self._keys()
            yield from self._stored()
        hooks = self._hooks()
        if hooks is not None:
            yield hooks
        for adapter in self._known.values():
            check = self._agent(adapter)
            if check is not None:
                yield check
        for failure in failures(self._config.formats()):
            hint = f"the agent comes from {failure.source}; update or remove it"
            yield Check(f"agent {failure.slug}", "warn", f"cannot be loaded: {failure.reason}", hint)
        yield from self._set_up()
        for folder in self._config.ingest.folders:
            yield self._folder_of_files(os.path.abspath(expand(folder, self._env)))

    def _set_up(self) -> Iterator[Check]:
        """Say of every agent that was set up whether that still holds."""
        if not (self._folder / MANIFEST).exists():
            return
        try:
            machine = this_machine(self._folder, self._env, answers_prompts=self._config.context.per_prompt)
        except RecollectError as error:
            yield Check("setup", "fail", str(error), error.hint)
            return
        yield from setup_checks(self._folder, machine)

    def _python(self) -> Check:
        here = f"{platform.python_version()} on {sys.platform}"
        if sys.version_info[:2] < OLDEST_PYTHON:
            oldest = ".".join(map(str, OLDEST_PYTHON))
            return Check("python", "fail", f"{here}; {oldest} or newer is needed", f"install Python {oldest} or newer")
        return Check("python", "ok", here)

    def _home(self) -> Check:
        if not self._folder.exists():
            return Check("home", "ok", f"{self._folder} (not made yet)")
        mode = stat.S_IMODE(self._folder.stat().st_mode)
        if not os.access(self._folder, os.R_OK | os.W_OK | os.X_OK):
            return Check("home", "fail", f"{self._folder} cannot be written", f"chmod u+rwx {self._folder}")
        if os.name == "posix" and mode & 0o077:
            return Check(
                "home", "warn", f"{self._folder} can be read by others ({mode:o})", f"chmod 700 {self._folder}"
            )
        return Check("home", "ok", str(self._folder))

    def _disk(self) -> Check:
        folder = self._folder
        while not folder.exists():
            folder = folder.parent
        free = shutil.disk_usage(folder).free
        if free < _LOW_DISK_BYTES:
            return Check("disk", "fail", f"{free / 1e6:.0f} MB free", "free some space; what is stored stays")
        return Check("disk", "ok", f"{free / 1e9:.1f} GB free")

    def _keys(self) -> Check:
        try:
            load_keys(self._folder / "keys")
        except RecollectError as error:
            return Check("keys", "fail", str(error), error.hint)
        return Check("keys", "ok", "the archive can be opened")

    def _stored(self) -> Iterator[Check]:
        try:
            problems = quick_check(self._folder)
            reader = self._open_reader()
        except RecollectError as error:
            yield Check("database", "fail", str(error), error.hint)
            return
        if problems:
            yield Check("database", "fail", problems[0], "run `recollect rebuild` to derive it anew from the archive")
            return
        yield Check("database", "ok", "quick check passed")
        yield self._archive(reader)
        yield self._index(reader)
        yield self._meaning()
        yield self._analyses()
        yield self._parsers(reader)
        yield self._drift(reader)

    def _archive(self, reader: Reader) -> Check:
        try:
            archive = Archive.open(self._folder / "archive", load_keys(self._folder / "keys"), read_only=True)
            try:
                entries = sum(1 for _ in archive.entries(skip_damaged=True))
                damaged = archive.damaged_entries
                newest = max((s for s in reader.sources() if s.revision), key=lambda s: s.observed_at, default=None)
                if newest is not None:
                    for place, _ in reader.chunks(newest.source_id, newest.revision)[-1:]:
                        archive.read_chunk(place)
            finally:
                archive.close()
        except RecollectError as error:
            return Check("archive", "fail", str(error), error.hint)
        if damaged:
            return Check(
                "archive", "fail", f"{_counted(damaged, 'damaged place')} in the journal", "run `recollect verify`"
            )
        opens = ", newest chunk opens" if newest is not None else ""
        return Check("archive", "ok", f"{_counted(entries, 'observation')} in the journal{opens}")

    def _index(self, reader: Reader) -> Check:
        folder = self._folder / "index" / "text"
        try:
            present = set(shard_names(folder))
        except RecollectError as error:
            return Check("index", "fail", str(error), "run `recollect rebuild index`")
        missing = sorted(set(reader.shards()) - present)
        if missing:
            return Check("index", "fail", f"shards missing: {', '.join(missing)}", "run `recollect sync`")
        waiting = len(reader.changes_after("index"))
        if waiting:
            return Check("index", "warn", f"{_counted(waiting, 'change')} not indexed yet", "run `recollect sync`")
        return Check("index", "ok", f"{_counted(len(present), 'shard')}, in step with the database")

    def _meaning(self) -> Check:
        """Say how much can be searched by meaning; without vectors, a search answers from words."""
        try:
            found = self._vectors()
        except IndexUnavailable as error:
            return Check("vectors", "warn", f"{error}; searches go by words alone", error.hint)
        except RecollectError as error:
            return Check("vectors", "fail", str(error), error.hint)
        if found is None:
            return Check("vectors", "ok", "switched off in the configuration")
        covered = f"{found.covered:,} of {_counted(found.total, 'event')} covered"
        if not found.is_stale:
            return Check("vectors", "ok", covered)
        others = kept_models(self._folder / "index" / "vectors") if not found.covered else ()
        made_by = f"; there are vectors of {', '.join(others)}" if others else ""
        return Check("vectors", "warn", covered + made_by, "run `recollect embed`")

    def _parsers(self, reader: Reader) -> Check:
        known = {slug: a.facts.derived_version for slug, a in self._known.items()}
        read = [s for s in reader.sources() if s.records and s.parser_version]
        stale = [s for s in read if s.parser_version != known.get(s.agent, s.parser_version)]
        if stale:
            return Check(
                "parsers", "warn", f"{_counted(len(stale), 'source')} read by an older parser", "run `recollect sync`"
            )
        return Check("parsers", "ok", "everything was read by the parsers of this version")

    def _drift(self, reader: Reader) -> Check:
        found = reader.stats().drift
        if not found:
            return Check("formats", "ok", "every record type, field and value is known")
        by_agent: dict[str, int] = {}
        for row in found:
            by_agent[row.agent] = by_agent.get(row.agent, 0) + 1
        named = ", ".join(f"{agent} {number}" for agent, number in sorted(by_agent.items()))
        text = f"{_counted(len(found), 'thing')} that no parser knows ({named}); all of it is kept and searchable"
        return Check("formats", "warn", text, "see `recollect agents --drift`; a newer Recollect may read more")

    def _analyses(self) -> Check:
        """Say how many sessions wait to be analysed, and whether one of them has waited long."""
        if not self._config.distill.enabled:
            return Check("analyses", "ok", "switched off in the configuration")
        try:
            found = self._distilled()
        except RecollectError as error:
            return Check("analyses", "fail", str(error), error.hint or "run `recollect rebuild`")
        text = f"{_counted(found.analysed, 'session')} analysed, {found.waiting:,} waiting"
        text += f", {found.under_way:,} under way" if found.under_way else ""
        if found.unfit:
            text += f"; {found.unfit:,} by other rules than those in force"
            return Check("analyses", "warn", text, "run `recollect sync`: they are analysed again")
        if found.waited_s > LONG_S:
            days = found.waited_s / 86_400
            text += f"; the longest for {days:.0f} {'day' if round(days) == 1 else 'days'}"
            return Check("analyses", "warn", text, "run `recollect sync`; its notes say what cannot be analysed")
        return Check("analyses", "ok", text)

    def _hooks(self) -> Check | None:
        """Say what hooks left that waits or could not be taken, and why; None where no hook ever left anything."""
        spool = self._folder / "spool"
        found = hook_spool(str(spool))
        if found is None:
            return None
        if not found.is_writable:
            return Check("hooks", "fail", f"{spool} cannot be written: hooks keep nothing", f"chmod u+rwx {spool}")
        waiting = f"{_counted(found.waiting, 'event')} of hooks waiting for the next sync"
        if not found.aside:
            return Check("hooks", "ok", waiting)
        details = tuple(
            f"{reason.replace('_', ' ')}: {number:,} ({REASONS.get(reason, 'of another version')})"
            for reason, number in sorted(found.aside.items())
        )
        text = f"{waiting}; {_counted(sum(found.aside.values()), 'event')} not taken in: {'; '.join(details)}"
        return Check(
            "hooks", "warn", text, f"what was put aside lies in {spool / BAD}; delete it to forget it", details
        )

    def _folder_of_files(self, folder: str) -> Check:
        """Say what of a named folder was not taken, and why; all of it in `details`."""
        name = f"folder {folder}"
        if not os.path.isdir(folder):
            return Check(name, "warn", "is not there", "mount it, or take it out of [ingest] folders")
        found = sort_out(folder, self._known, known={}, read_head=read_head)
        sources = [source for of_agent in found.sources.values() for source in of_agent]
        unreadable = database_problems(sources)
        untaken = [*found.untaken, *unreadable]
        taken = len(sources) - len(unreadable)
        if not untaken:
            return Check(name, "ok", _counted(taken, "source"))
        reasons: dict[str, int] = {}
        for refused in untaken:
            reasons[refused.reason] = reasons.get(refused.reason, 0) + 1
        why = ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items(), key=lambda r: -r[1]))
        text = f"{_counted(taken, 'source')}; {_counted(len(untaken), 'file')} not taken: {why}"
        details = tuple(f"{r.path}: {r.reason}" for r in untaken)
        return Check(name, "ok", text, "`recollect doctor --json` lists them", details)

    def _agent(self, adapter: Adapter) -> Check | None:
        """Return what is found of an agent, None for one that is not on this machine."""
        slug = adapter.facts.slug
        if not self._config.agent(slug).enabled:
            return Check(f"agent {slug}", "ok", "switched off in the configuration")
        roots = roots_of(adapter, self._config, self._env)
        found = discover(adapter, roots, known_roles={}, read_head=read_head)
        if not found.roots:
            return None
        unreadable = [s.path for s in found.sources if not os.access(s.path, os.R_OK)]
        refused = [f"{r.path} {r.reason}" for r in (*found.refused, *database_problems(found.sources))]
        refused += [f"{p} cannot be read" for p in unreadable]
        if refused:
            more = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
            return Check(f"agent {slug}", "warn", f"{_counted(len(found.sources), 'source')}; {refused[0]}{more}")
        if not found.sources and set(found.roots) <= shared_roots(self._known.values(), self._config, self._env):
            return None
        if not found.sources:
            return Check(f"agent {slug}", "warn", f"{', '.join(found.roots)} holds no sessions")
        return Check(f"agent {slug}", "ok", f"{_counted(len(found.sources), 'source')} in {', '.join(found.roots)}")


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
