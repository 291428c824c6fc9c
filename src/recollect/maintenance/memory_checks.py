"""`recollect doctor`: runs health checks that change nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Literal

import msgspec

from recollect.archive.archive import Archive
from recollect.archive.keys import load_keys
from recollect.erasure.schedule import doubt
from recollect.erasure.selection import erasing, excluded_repos, is_of
from recollect.errors import IndexUnavailable, RecollectError, StoreError
from recollect.index.text.engine import shard_names
from recollect.index.vectors.files import kept_models
from recollect.index.vectors.passage_process import INSTALL_HINT
from recollect.ingest.damage import DOCTOR_BYTES, behind, known_damage, look, untold
from recollect.ingest.learnings.status import LearnStatus
from recollect.insights.learnings.pause import PauseReason, is_persistent
from recollect.maintenance.agent_checks import agent_checks, program
from recollect.maintenance.home_checks import DoctorContext, lately_checks, machine_checks, service
from recollect.maintenance.reports import Check, DoctorReport
from recollect.paths import DATABASE_NAME
from recollect.privacy.redact import detectors_in_force
from recollect.ready_blocks import head_of
from recollect.recall.context.person_files import person_files
from recollect.store.connection import is_lost, lost, quick_check
from recollect.store.documents import Collection, DocumentCounts, DocumentStore
from recollect.store.erasure.redact_rows import STALE_PARSER
from recollect.store.lock import IngestLock
from recollect.store.migrations import SCHEMA_VERSION
from recollect.store.reader import Reader
from recollect.store.rows import EventFilter
from recollect.store.snapshots import Space, derived_under, space_of
from recollect.units import duration, plural, size

LARGE_LOG_BYTES = 64 << 20
"""The write-ahead log is emptied into the database by every sync: a longer one is kept by a reader, or by a crash."""
LARGE_FREE_BYTES = 16 << 20
LARGE_FREE_SHARE = 0.2
CLOCK_SKEW_S = 300
DETECTORS = "detectors"
"""The key in `meta` of what was in force when what is stored was derived, see `privacy.configured`."""


def stored_checks(context: DoctorContext) -> Iterator[Check]:
    """Yield what there is to say of what is stored; of a database that cannot be read only that."""
    yield keys(context)
    try:
        problems = quick_check(context.folder)
        reader = context.open_reader()
        space = space_of(context.folder)
    except RecollectError as error:
        yield Check("database", "fail", str(error), error.hint)
        return
    if problems:
        yield Check(
            "database", "fail", problems[0], "run `recollect repair`: it derives the database again from the archive"
        )
        return
    yield database(space)
    yield room(space)
    yield archive(context, reader)
    yield index(context, reader)
    yield meaning(context)
    yield contextual(context)
    yield analyses(context)
    yield parsers(context, reader)
    yield detectors(context)
    yield excluded(context, reader)
    yield drift(context, reader)
    yield clock(context, reader)


def keys(context: DoctorContext) -> Check:
    """Say whether the keys open."""
    try:
        load_keys(context.folder / "keys")
    except RecollectError as error:
        return Check("keys", "fail", str(error), error.hint)
    return Check("keys", "ok", "the archive can be opened")


def database(space: Space) -> Check:
    """Say whether the database is sound, and whether it is ours to write."""
    if space.schema > SCHEMA_VERSION:
        text = f"was written by a newer Recollect (schema {space.schema}, this one knows {SCHEMA_VERSION}): read only"
        return Check("database", "warn", text, "upgrade recollect")
    return Check("database", "ok", "quick check passed")


def room(space: Space) -> Check:
    """Say whether the database takes much more of the disk than it holds."""
    if space.log > LARGE_LOG_BYTES:
        text = f"the write-ahead log has {size(space.log)}"
        return Check("database room", "warn", text, "`recollect doctor --fix` empties it", id="wal")
    if space.free > max(LARGE_FREE_BYTES, LARGE_FREE_SHARE * space.total):
        text = f"{size(space.free)} of {size(space.total)} are free pages"
        return Check("database room", "warn", text, "`recollect doctor --fix` gives them back", id="wal")
    return Check("database room", "ok", f"{size(space.total)}, its log {size(space.log)}", id="wal")


def archive(context: DoctorContext, reader: Reader) -> Check:
    """Say whether journal and database tell the same, and whether what a look in turn opens of the archive is whole."""
    try:
        with Archive.open(context.folder / "archive", load_keys(context.folder / "keys"), read_only=True) as opened:
            rows = list(reader.ledgers())
            entries = sum(entry.is_observation for entry in opened.entries(skip_damaged=True))
            broken = opened.journal.damaged
            told = opened.sizes()
            lacking = len(untold(told, rows))
            ahead = behind(told, rows) and behind(told, reader.ledgers())
            look(context.folder, opened, budget=DOCTOR_BYTES, all_changed=False)
            damage = known_damage(context.folder, opened)
    except RecollectError as error:
        return Check("archive", "fail", str(error), error.hint)
    if damage.chunks:
        uids = tuple(uid for source in damage.sources for uid in source.sessions)
        return Check("archive", "fail", damage.told(), "run `recollect repair`", uids)
    if broken or lacking:
        text = f"{plural(broken, 'damaged place')} in the journal" if broken else (
            f"the journal does not tell of {lacking:,} of {plural(len(rows), 'revision')} that the database has"
        )  # fmt: skip
        return Check("archive", "fail", text, "run `recollect sync`: it writes the journal again from the database")
    if ahead:
        text = f"the database lacks {plural(ahead, 'revision')} that the archive has"
        state: Literal["warn", "fail"] = "warn" if _is_ingesting(context) else "fail"
        return Check("archive", state, text, "run `recollect sync`: it derives them from the archive")
    gone = sum(hole.length for row in rows for hole in row.holes)
    taken = f"; {size(gone)} were deleted on purpose" if gone else ""
    return Check("archive", "ok", f"{plural(entries, 'observation')} in the journal; what was opened is intact{taken}")


def _is_ingesting(context: DoctorContext) -> bool:
    """Whether somebody ingests now: what the archive has first is then in the database in a moment."""
    try:
        IngestLock(context.folder).release()
    except StoreError:
        return True
    return False


def index(context: DoctorContext, reader: Reader) -> Check:
    """Report whether every shard exists and is up to date with the database."""
    folder = context.folder / "index" / "text"
    try:
        present = set(shard_names(folder))
    except RecollectError as error:
        return Check("index", "fail", str(error), "run `recollect rebuild index`")
    missing = sorted({*reader.shards(), *reader.entries.shards()} - present)
    if missing:
        return Check("index", "fail", f"shards missing: {', '.join(missing)}", "run `recollect sync`")
    waiting = len(reader.changes_after("index")) + len(reader.entries.changes())
    if waiting:
        return Check("index", "warn", f"{plural(waiting, 'change')} not indexed yet", "run `recollect sync`")
    return Check("index", "ok", f"{plural(len(present), 'shard')}, in step with the database")


def meaning(context: DoctorContext) -> Check:
    """Say how much can be searched by meaning; without vectors, a search answers from words."""
    try:
        found, entries = context.vectors(), context.entry_vectors()
    except IndexUnavailable as error:
        return Check("vectors", "warn", f"{error}; searches go by words alone", error.hint)
    except RecollectError as error:
        return Check("vectors", "fail", str(error), error.hint)
    if found is None or entries is None:
        return Check("vectors", "ok", "switched off in the configuration")
    covered = f"{found.covered:,} of {plural(found.total, 'event')}"
    if entries.total:
        covered += f", {entries.covered:,} of {entries.total:,} learned, noted and documented"
    covered += " covered"
    if not found.is_stale and not entries.is_stale:
        return Check("vectors", "ok", covered)
    others = kept_models(context.folder / "index" / "vectors") if not found.covered else ()
    made_by = f"; there are vectors of {', '.join(others)}" if others else ""
    return Check("vectors", "warn", covered + made_by, "run `recollect embed`")


def contextual(context: DoctorContext) -> Check:
    """Say how much the contextual model has read; without it, questions are ranked by words and static vectors."""
    name, asked = "contextual model", context.config.embedding
    if not asked.contextual or asked.model != "builtin" or asked.api:
        return Check(name, "ok", "switched off in the configuration")
    try:
        found = context.passages()
    except RecollectError as error:
        return Check(name, "warn", str(error), error.hint or "run `recollect embed`")
    if found is None:
        return Check(name, "ok", "not installed: questions are ranked by words and static vectors", INSTALL_HINT)
    read = f"has read {found.covered:,} of {plural(found.total, 'session')}"
    if not found.is_stale:
        return Check(name, "ok", read)
    if asked.in_background:
        return Check(name, "ok", f"{read}; the next sync goes on in the background, or `recollect embed` does")
    return Check(name, "warn", read, "run `recollect embed`")


def parsers(context: DoctorContext, reader: Reader) -> Check:
    """Say whether the parsers of this version read everything."""
    known = {slug: a.facts.derived_version for slug, a in context.known.items()}
    read = [s for s in reader.sources() if s.records and s.parser_version]
    stale = [s for s in read if s.parser_version not in (known.get(s.agent, s.parser_version), STALE_PARSER)]
    if stale:
        return Check(
            "parsers", "warn", f"{plural(len(stale), 'source')} read by an older parser", "run `recollect sync`"
        )
    return Check("parsers", "ok", "the parsers of this version read everything")


def drift(context: DoctorContext, reader: Reader) -> Check:
    """Say what agents wrote that no parser knows."""
    found = reader.stats().drift
    if not found:
        return Check("formats", "ok", "every record type, field and value is known")
    by_agent: dict[str, int] = {}
    for row in found:
        by_agent[row.agent] = by_agent.get(row.agent, 0) + 1
    named = ", ".join(f"{agent} {number}" for agent, number in sorted(by_agent.items()))
    text = f"{plural(len(found), 'thing')} that no parser knows ({named}); all of it is stored and searchable"
    is_described = by_agent.keys() <= context.config.formats().keys()
    more = "add what you don't need to `skip`" if is_described else "a newer Recollect may read more"
    return Check("formats", "warn", text, f"see `recollect agents --drift`; {more}")


def analyses(context: DoctorContext) -> Check:
    """Say how many sessions wait to be analysed, and whether one of them has waited long."""
    if not context.config.distill.enabled:
        return Check("analyses", "ok", "switched off in the configuration")
    try:
        found = context.distilled()
    except RecollectError as error:
        return Check("analyses", "fail", str(error), error.hint or "run `recollect rebuild`")
    text = f"{plural(found.analysed, 'session')} analysed, {found.waiting:,} waiting"
    text += f", {found.under_way:,} under way" if found.under_way else ""
    if found.unfit:
        text += f"; {found.unfit:,} under other rules than the current ones"
        return Check("analyses", "warn", text, "run `recollect sync`: they are analysed again")
    if found.waited_s > LONG_S:
        text += f"; the longest for {plural(round(found.waited_s / 86_400), 'day')}"
        return Check("analyses", "warn", text, "run `recollect sync`; its notes say what cannot be analysed")
    return Check("analyses", "ok", text)


def detectors(context: DoctorContext) -> Check:
    """Say whether what is stored was redacted by the detectors in force."""
    try:
        found = derived_under(context.folder, DETECTORS)
    except RecollectError as error:
        return Check("detectors", "fail", str(error), error.hint)
    if found != detectors_in_force(context.config.privacy):
        text = "what is stored was redacted with other detectors than the current ones"
        return Check("detectors", "warn", text, "run `recollect sync`: it rebuilds this from the archive")
    return Check("detectors", "ok", "everything was redacted with the current detectors")


def clock(context: DoctorContext, reader: Reader) -> Check:
    """Report whether this machine's clock is behind recorded times, or is doubted: then nothing is deleted because
    of its age.
    """
    newest = max((source.observed_at for source in reader.sources()), default=0)
    ahead_s = (newest - context.now_us) / 1_000_000
    if ahead_s > CLOCK_SKEW_S:
        text = f"something was ingested {duration(ahead_s)} from now: the clock was ahead then, or is behind now"
        return Check("clock", "warn", text, "set the clock of this machine")
    if doubted := doubt(context.folder, now_us=context.now_us):
        hint = "check the date; if it is right, wait for a day or run `recollect evict --force`"
        return Check("clock", "warn", doubted, hint)
    return Check("clock", "ok", "agrees with the last time this memory recorded")


_MANY_SESSIONS = 1_000_000


def excluded(context: DoctorContext, reader: Reader) -> Check:
    """Say whether sessions of excluded repositories were stored before these were excluded; nothing removes them."""
    patterns = excluded_repos(context.config, context.env)
    if not patterns:
        return Check("excluded repositories", "ok", "no repository is excluded", id="excluded")
    sessions, _total = reader.sessions(EventFilter(), limit=_MANY_SESSIONS)
    stored = [s for s in sessions if is_of(patterns, repo=s.repo, repo_root=s.repo_root, cwd=s.cwd)]
    if not stored:
        return Check("excluded repositories", "ok", "nothing of them is stored", id="excluded")
    repos = sorted({s.repo for s in stored} - {""})
    more = [f"{len(repos) - 5:,} more"] if len(repos) > 5 else []
    text = f"{plural(len(stored), 'session')} of them were stored before: {', '.join((*repos[:5], *more))}"
    hint = f"to erase them, run {erasing(context.config.privacy.exclude_repos)}"
    return Check("excluded repositories", "warn", text, hint, id="excluded")


_NOTHING = DocumentCounts(0, 0, 0, 0)


def documents(context: DoctorContext) -> list[Check]:
    """Return a check for each collection that needs a word, else one for all; none where no folder was added."""
    try:
        with DocumentStore(context.folder, "read") as store:
            collections, counts = store.collections(), store.counts()
    except RecollectError as error:
        return [Check("documents", "fail", f"cannot be read: {error}")]
    if not collections:
        return []
    found = [check for one in collections if (check := _trouble(one, counts.get(one.name, _NOTHING))) is not None]
    if found:
        return found
    taken = sum(one.taken for one in counts.values())
    text = f"{plural(taken, 'document')} in {plural(len(collections), 'collection')}"
    return [Check("documents", "ok", text)]


def _trouble(one: Collection, counts: DocumentCounts) -> Check | None:
    """Return what is wrong with a collection, as far as its folder shows now; None for nothing."""
    name = f"documents {one.name}"
    if one.folder and not os.path.isdir(one.folder):
        text = f"{one.folder} does not exist; searches still find {plural(counts.taken, 'document')} of it"
        hint = f"mount it again, or `recollect docs remove {one.name}`"
        return Check(name, "warn", text, hint, id="documents")
    if counts.failed:
        text = f"{plural(counts.failed, 'file')} could not be read"
        return Check(name, "warn", text, f"`recollect docs show {one.name}` lists them", id="documents")
    if not counts.taken:
        text = "it contains no document"
        if one.folder:
            text = f"{one.folder} contains no document"
        hint = (
            "`recollect help search-your-documents` says what counts as a document; `[documents] include` adds others"
        )
        return Check(name, "warn", text, hint, id="documents")
    return None


LONG_S = 24 * 3600
"""A session that could be learned from for so long and is not is worth a warning."""
MODEL = "learning model"
_HINTS: dict[PauseReason, str] = {
    "authentication": "set the variable that [learning] key_variable names; the model is then asked again at once",
    "quota": "check your account with the provider, or remove [learning] provider from the configuration",
    "configuration": "correct [learning] in the configuration (`recollect config` shows it)",
    "unusable": "choose another [learning] model: this one does not answer in the required form",
    "rate": "nothing is lost: it continues when the server accepts requests again",
    "unavailable": "start the server, or correct [learning] url; nothing is lost",
    "budget": "nothing is lost: it continues tomorrow, or when you raise a day_budget of [learning]",
}


def learning_checks(context: DoctorContext) -> Iterator[Check]:
    """Yield what there is to say of learning, of the model only where one is configured."""
    try:
        found = context.learning()
    except RecollectError as error:
        yield Check("learning", "fail", str(error), error.hint or "run `recollect rebuild`")
        return
    yield learning(found, context.now_us)
    if found.enabled and found.provider:
        yield model(found)
    if found.dead:
        yield given_up(found)
    if found.held_back:
        text = f"{plural(found.held_back, 'text')} of a model's answers could not be used; agents do not get them"
        yield Check("learning held back", "ok", text, id="quarantine")
    check = own_files(context)
    if check is not None:
        yield check


def learning(found: LearnStatus, now_us: int) -> Check:
    """Say how much was learned, and whether sessions wait long."""
    if not found.enabled:
        return Check("learning", "ok", "switched off in the configuration")
    text = f"{plural(found.holding, 'learning')}; {plural(found.sessions_waiting, 'session')} waiting"
    due_at = found.oldest_due_at if found.sessions_waiting else None
    waited_s = (now_us - due_at) / 1e6 if due_at is not None else 0.0
    if waited_s > LONG_S:
        text += f", the longest for {plural(round(waited_s / 86_400), 'day')}"
        return Check("learning", "warn", text, "run `recollect sync`; its notes say what cannot be learned from")
    return Check("learning", "ok", text)


def model(found: LearnStatus) -> Check:
    """Say whether the model that is configured answers, and what keeps it from being asked."""
    waiting = f"{plural(found.turns_waiting + found.turns_parked, 'question')} waiting"
    pause = found.pause
    if pause is None:
        return Check(MODEL, "ok", f"{found.provider}; {waiting}", id=MODEL)
    text = f"{found.provider} is not asked: {pause.message}; {waiting}"
    if not is_persistent(pause):
        return Check(MODEL, "ok", text, _HINTS[pause.reason], id=MODEL)
    failures = f", {plural(pause.failures, 'failure')} in a row" if pause.failures > 1 else ""
    return Check(MODEL, "warn", text + failures, _HINTS[pause.reason], id=MODEL)


def given_up(found: LearnStatus) -> Check:
    """Report work that was tried often enough and never succeeded."""
    text = f"{plural(found.dead, 'piece')} of work failed at the last attempt"
    hint = (
        "`recollect doctor --json` lists the newest with the reason; a new version, or a change of the session, retries"
    )
    newest = tuple(f"{job.session_uid or job.key}: {job.reason}" for job in found.newest_dead)
    return Check("learning given up", "warn", text, hint, newest, id="dead-letters")


def own_files(context: DoctorContext) -> Check | None:
    """Say whether the files that are to lead what agents are given can be read; None if there are none."""
    settings = context.config.context
    told = (settings.soul_file, settings.user_file)
    files = person_files(context.folder, context.env, soul=told[0], user=told[1])
    there = [file for file in files if head_of(file.path) is not None]
    missing = [file.path for file, named in zip(files, told, strict=True) if named and file not in there]
    if missing:
        text = f"{', '.join(missing)} cannot be read, though the configuration names it"
        return Check("own files", "warn", text, "`recollect context init` writes it", tuple(missing), id="own-files")
    if not there:
        return None
    named = " and ".join(file.name for file in there)
    return Check("own files", "ok", f"{named} comes first in what agents are given", id="own-files")


def diagnose(context: DoctorContext) -> DoctorReport:
    """Run every check and return what each found. Never raises for what it finds."""
    checks = tuple(
        (check if check.id else msgspec.structs.replace(check, id=check.name.split()[0])) for check in _checks(context)
    )
    return DoctorReport(ok=not any(c.state == "fail" for c in checks), checks=checks)


def _checks(context: DoctorContext) -> Iterator[Check]:
    yield from machine_checks(context)
    yield program(context)
    yield from service(context)
    reader: Reader | None = None
    if is_lost(context.folder):
        error = lost(context.folder)
        yield Check("database", "fail", str(error), error.hint)
    elif not (context.folder / DATABASE_NAME).exists():
        yield Check("memory", "warn", "nothing is stored yet", "run `recollect up --once`")
    else:
        sound = True
        for check in stored_checks(context):
            sound = sound and not (check.name == "database" and check.state == "fail")
            yield check
        if sound:
            yield from lately_checks(context)
            yield from documents(context)
            yield from learning_checks(context)
            reader = _reader(context)
    yield from agent_checks(context, reader)


def _reader(context: DoctorContext) -> Reader | None:
    try:
        return context.open_reader()
    except RecollectError:
        return None  # told already, as the check of the database
