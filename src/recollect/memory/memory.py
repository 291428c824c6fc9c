"""`class Memory`: opens a home, keeps it fresh, answers questions. Synchronous; safe from many threads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, tzinfo
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from recollect.agent_names import OWN
from recollect.clock import now_us
from recollect.config import Config, load_config
from recollect.errors import ConfigError, IndexUnavailable, StoreError, UnknownName
from recollect.ingest.open_home import OpenHome
from recollect.ingest.operations import Refresher, is_behind, remake_shards
from recollect.memory.facets import facet
from recollect.paths import DATABASE_NAME, HOME_VARIABLE, STORE_VARIABLE, config_file, home_dir, home_of_store
from recollect.recall.answers import SearchAnswer, SessionPage, Stats, StorageStats, Timeline
from recollect.store.home import Home, make_home
from recollect.store.rows import EventFilter

# A search must start quickly: what only ingesting, maintenance and reading from the archive need is imported there.
if TYPE_CHECKING:
    from recollect.ingest.distill import DistillingFacet
    from recollect.ingest.imports import ImportOptions
    from recollect.ingest.known_names import KnownNames
    from recollect.ingest.learnings.run import LearnFacet
    from recollect.ingest.report import ProgressCallback, SyncReport
    from recollect.ingest.spool import SpoolFacet
    from recollect.insights.retro.report import ErrorLine, Retro
    from recollect.memory.blame import BlameAnswer, BlameQuestion, FilesFacet
    from recollect.memory.browse import BrowseFacet
    from recollect.memory.documents import DocumentsFacet
    from recollect.memory.handoff import HandoffFacet
    from recollect.memory.insights import DecisionsFacet, Telling
    from recollect.memory.live import LiveFacet
    from recollect.memory.maintenance import MaintenanceFacet
    from recollect.memory.notes import NotesFacet, SavedSearchesFacet
    from recollect.memory.recall import AgentsFacet, RecallFacet, UsageFacet
    from recollect.memory.setup import SetupFacet
    from recollect.memory.shared_folder import SharedFolderFacet
    from recollect.memory.team import TeamFacet
    from recollect.model.events import Event
    from recollect.model.insights.digests import Digest, PublishedDigest
    from recollect.model.insights.nodes import DecisionState
    from recollect.recall.context.builder import ContextBlock
    from recollect.recall.context.facet import ContextFacet
    from recollect.recall.context.lines import ContextEvent
    from recollect.recall.decisions import DecisionsAnswer
    from recollect.recall.search import Searcher
    from recollect.store.insights import KeptNode


class Memory(OpenHome):
    """The memory of one home. Use `Memory.open`; close it, or use it as a context manager."""

    def __init__(
        self, home: Path, config: Config, env: Mapping[str, str], *, config_path: Path | None = None, zone: tzinfo = UTC
    ) -> None:
        super().__init__(home, config, env, config_path=config_path, zone=zone)
        self._refresher = Refresher(self)

    @classmethod
    def open(
        cls,
        home: str | Path | None = None,
        *,
        config: Config | None = None,
        env: Mapping[str, str] | None = None,
        zone: tzinfo = UTC,
    ) -> Memory:
        """Open the memory of a home folder; without one, that of `RECOLLECT_HOME` or the platform's default.

        Reads and writes nothing until needed. env replaces the process environment (agents' own variables, the user's
        home). zone: the time zone for days in queries and notes. Raises ConfigError for an unusable configuration,
        StoreError for a folder that cannot be entered.
        """
        values = os.environ if env is None else env
        if home is None:
            _check_store(values)
        folder = home_dir(values) if home is None else Path(home)
        try:
            os.stat(folder / DATABASE_NAME)
        except (FileNotFoundError, NotADirectoryError):
            pass  # nothing is stored yet
        except OSError as error:
            raise StoreError(f"the memory in {folder} cannot be opened: {error.strerror or error}") from error
        read_from = None
        if config is None:
            own = folder / "config.toml"
            is_named = home is not None or folder == Path(home_of_store(values) or os.devnull)
            read_from = own if is_named and own.exists() else config_file(values)
            config = load_config(read_from)
        if not config.agents.keys() <= OWN.keys() or config.formats():
            from recollect.agents.registry import define, with_slugs

            define(config.formats())
            config = with_slugs(config)
        return cls(folder.absolute(), config, values, config_path=read_from, zone=zone)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Ingesting

    def sync(
        self, *, agents: Sequence[str] = (), force: bool = False, progress: ProgressCallback | None = None
    ) -> SyncReport:
        """Ingest everything new or changed, analyse it and learn from it; then ask the configured model.

        force: first derive all stored events again from the archive. When another process is ingesting, returns at once
        with state "busy". Raises UnknownName for an agent that does not exist, StoreError or ArchiveError when the home
        cannot be written.
        """
        from recollect.ingest.operations import sync

        return sync(self, agents=agents, force=force, progress=progress)

    def take_in(
        self, paths: Sequence[Path], *, agents: Sequence[str] = (), options: ImportOptions | None = None,
        is_dry_run: bool = False, progress: ProgressCallback | None = None,
    ) -> SyncReport:  # fmt: skip
        """Ingest files and folders that the user names: transcripts in any layout, exports of conversations.

        Unpacks zip archives temporarily. agents: who wrote the files, if their content does not tell. Without paths:
        the agents' own folders. options: which part to ingest. is_dry_run: only report; writes nothing and takes no
        lock. Raises SourceError for a missing path or an unreadable archive, before anything is ingested; UnknownName
        for a session; else as `sync`.
        """
        from recollect.ingest.operations import import_

        return import_(self, paths, agents=agents, options=options, is_dry_run=is_dry_run, progress=progress)

    def refresh(self) -> tuple[str, ...]:
        """Ingest changes, a few times a second at most; return notes about problems.

        A running daemon is asked to finish what it has noticed instead. Never raises for a home that is busy, full or
        read-only: reading continues with what is stored.
        """
        return self._refresher.refresh()

    def is_refresh_due(self) -> bool:
        """Return whether `refresh` would do anything now. One look at the database at most."""
        return self._refresher.looks_again() or is_behind(self)

    # Asking

    def search(
        self, query: str, *, limit: int | None = None, sync: bool = True, folders: Sequence[str] | None = None,
        zone: tzinfo | None = None,
    ) -> SearchAnswer:  # fmt: skip
        """Answer a query (see docs/reference/query-language.md). Any text is a valid query.

        sync: ingest changes first. folders: where the asker works, by default this process's folder: its repository may
        be new. zone: the time zone for days in the query, by default the memory's. Without a readable index the answer
        has no hits and a note; a query that names an unknown agent or repository also gives a note.
        """
        from recollect.recall.coverage import partly

        notes = self.refresh() if sync else ()
        wanted = limit if limit is not None else self.config.search.limit
        answer = self._ask(query, wanted, folders, zone or self.zone)
        if sync and self.index is not None and self.index.damaged:
            notes = (*notes, remake_shards(self, self.index.damaged))
            answer = self._ask(query, wanted, folders, zone or self.zone)
        answer = partly(answer, self.stale)
        return msgspec.structs.replace(answer, notes=tuple(dict.fromkeys((*answer.notes, *notes))))

    def sessions(
        self, *, where: EventFilter | None = None, after: int | None = None, before: int | None = None,
        limit: int = 20, offset: int = 0, sync: bool = True, folders: Sequence[str] | None = None,
    ) -> SessionPage:  # fmt: skip
        """Return sessions, newest first. after/before: UTC microseconds, [after, before). folders: as in `search`.

        Raises UnknownName for any name in the filter.
        """
        notes = self.refresh() if sync else ()
        names = self.known_names(folders)
        known = names.filter(where or EventFilter())
        page, total = self.reader().sessions(known, after=after, before=before, limit=limit, offset=offset)
        return SessionPage(page, total, (*notes, *names.notes))

    def events(self, uid: str, *, first_seq: int = 0, limit: int | None = None) -> Iterator[Event]:
        """Yield a session's events in order of seq, with full, redacted payloads. Raises UnknownName."""
        return self.reader().events(self.session(uid).session_uid, first_seq=first_seq, limit=limit)

    def timeline(
        self, *, session: str | None = None, agents: Sequence[str] = (), repo: str | None = None,
        after: int | None = None, before: int | None = None, limit: int = 100, sync: bool = True, filters: str = "",
    ) -> Timeline:  # fmt: skip
        """Return events in order: of one session by seq, else of all sessions by time.

        filters: further filters, as in a query. Raises UnknownName for a session, an agent or a repository, UsageError
        for invalid filters.
        """
        notes = self.refresh() if sync else ()
        question = self.recall.filtered(filters)
        where = msgspec.structs.replace(
            question.where,
            agents=(*question.where.agents, *agents),
            sessions=(*question.where.sessions, *((self.session(session).session_uid,) if session else ())),
            repos=(*question.where.repos, *((repo,) if repo else ())),
        )
        names = self.known_names()
        known = names.filter(where)
        starts = [at for at in (after, question.after_us) if at is not None]
        ends = [at for at in (before, question.before_us) if at is not None]
        entries, total = self.reader().timeline(
            known, after=max(starts, default=None), before=min(ends, default=None), limit=limit, kinds=question.kinds
        )
        return Timeline(entries, total, (*notes, *names.notes))

    def stats(self) -> Stats:
        """Return what the memory holds and its size on disk."""
        s = self.reader().stats()
        return Stats(
            home=str(self.home),
            agents=s.agents,
            sessions=sum(a.sessions for a in s.agents),
            events=sum(a.events for a in s.agents),
            kind_counts=s.kind_counts,
            source_bytes=sum(a.source_bytes for a in s.agents),
            storage=StorageStats(s.database_bytes, self.folders.archive_bytes(), self.folders.index_bytes()),
            defects=s.defects,
            redactions=s.redactions,
            first_event=s.first_event,
            last_event=s.last_event,
            vectors=self.embedding.stats(),
            entries=self.reader().entries.counts(),
        )

    def parse(self, path: Path, *, agent: str | None = None) -> Iterator[Event]:
        """Yield the redacted events of one file; stores nothing."""
        from recollect.ingest.parse import parse_file

        return parse_file(path, agent=agent, formats=self.config.formats(), privacy=self.config.privacy)

    def context(
        self, *, cwd: str = "", event: ContextEvent = "start", session: str = "", prompt: str = "",
        budget: int | None = None, sync: bool = False,
    ) -> ContextBlock:  # fmt: skip
        """Return the context for an agent at session start, after a compaction or before a prompt.

        cwd: where the agent works. session: the uid of the present session. prompt: the user's words, for that event,
        which is answered only if the configuration enables it. budget: in LLM tokens, by default the configuration's.
        sync: ingest changes first. Never fails because of stored data: the block is then empty and has a note.
        """

        if sync:
            self.refresh()
        limit = self.config.context.budget_tokens if budget is None else budget
        return self.context_facet.block(cwd=cwd, event=event, session=session, prompt=prompt, budget=limit)

    # What sessions mean

    def digest(self, uid: str) -> Digest | None:
        """Return a session's digest by uid, unique prefix or citation; None without one."""
        if not self.is_there():
            return None
        with suppress(UnknownName):
            uid = self.session(uid.partition("#")[0]).session_uid
        return self.distilled().digest(uid)

    def errors_of(self, digest: Digest) -> dict[str, ErrorLine]:
        """Return the errors of a session and what fixed them, by fingerprint."""
        from recollect.memory.insights import errors_of

        return {line.fingerprint: line for line in errors_of(self, self.session(digest.session_uid))}

    def nodes(
        self, *, kinds: Sequence[str] = (), repo: str = "", session: str = "", after: int | None = None,
        before: int | None = None, with_revoked: bool = False,
    ) -> Iterator[KeptNode]:  # fmt: skip
        """Yield nodes with the times when they were recorded and revoked, session by session in canonical order.

        kinds: of `model.insights.nodes.NODE_KINDS`, empty: all. session: exact uid. after/before: UTC microseconds,
        [after, before).
        """
        from recollect.store.insights import NodeFilter

        if not self.is_there():
            return iter(())
        repos, sessions = ((repo,) if repo else ()), ((session,) if session else ())
        return self.distilled().nodes(NodeFilter(tuple(kinds), repos, sessions, after, before, with_revoked))

    def decisions(
        self, query: str = "", *, repo: str = "", path: str = "", at: int | None = None,
        states: Sequence[DecisionState] = (), limit: int | None = None,
    ) -> DecisionsAnswer:  # fmt: skip
        """Return decisions, newest first. `DecisionsFacet.find` offers more options."""
        from recollect.recall.decisions import DecisionQuestion

        repos = (repo,) if repo else ()
        question = DecisionQuestion(repos, path, at, states=tuple(states), words=tuple(query.split()))
        return self.decisions_facet.find(question, limit=limit)

    def retro(
        self, *, since: int, until: int, repos: tuple[str, ...] = (), sync: bool = True,
        tell: Telling = lambda _: None, zone: tzinfo = UTC,
    ) -> Retro:  # fmt: skip
        """Return the retrospective of a period: [since, until), UTC microseconds; repos as in `EventFilter`.

        zone: the time zone of its days. sync: ingest changes and analyse first. tell: called with the present activity.
        Raises UnknownName for a repository, ConfigError, StoreError.
        """
        from recollect.insights.retro.builder import Span
        from recollect.memory.insights import freshen, make_retro

        notes = freshen(self, self.refresh, tell=tell) if sync else ()
        names = self.known_names()
        known = names.filter(EventFilter(repos=repos)).repos
        tell("looking back")
        retro = make_retro(self, Span(since, until, known, zone), notes=(*notes, *names.notes))
        return msgspec.structs.replace(retro, repos=repos)

    def blame(self, question: BlameQuestion, *, sync: bool = True, tell: Telling = lambda _: None) -> BlameAnswer:
        """Return which recorded edit wrote a line of a file, or that nothing proves it.

        sync: ingest and analyse changes first, including unfinished sessions. tell: called with the present activity.
        Raises ConfigError, StoreError.
        """
        from recollect.memory.blame import answer_blame
        from recollect.memory.insights import freshen

        repos = tuple(f"={repo}" for repo in question.repos)
        notes = freshen(self, self.refresh, with_under_way=True, repos=repos, tell=tell) if sync else ()
        tell("looking through recorded edits")

        def calls(query: str) -> list[str]:
            return [f"{hit.session_uid}#{hit.seq}" for hit in self.search(query, limit=50, sync=False).hits]

        return answer_blame(self, question, calls, notes=notes)

    def exported(self, digest: Digest) -> dict[str, str]:
        """Return the variables with which another program joins its records to a session."""
        from recollect.insights.correlation import exported

        return exported(digest, self.config.infra.tools, str((self.home / DATABASE_NAME).absolute()))

    def published(self, digest: Digest) -> PublishedDigest:
        """Return a digest in schema 2, with the share of the configured infrastructure."""
        from recollect.insights.correlation import overhead_share
        from recollect.model.insights.digests import published

        return published(digest, overhead_share(digest, self.config.infra.tools))

    # Facets

    decisions_facet: DecisionsFacet = facet("recollect.memory.insights")
    """Ask for decisions, and add one that was taken elsewhere."""
    files: FilesFacet = facet("recollect.memory.blame")
    """The files that agents edited, and what led to each of their lines."""
    distilling: DistillingFacet = facet("recollect.ingest.distill")
    """Analyse sessions: digests, signals, decisions."""
    learn: LearnFacet = facet("recollect.ingest.learnings.run")
    """Learn from sessions, ask what was learned, and say what of it is right."""
    notes: NotesFacet = facet("recollect.memory.notes")
    """Diary, facts, tags, and the runs that can be undone."""
    documents: DocumentsFacet = facet("recollect.memory.documents")
    """Project documents: the folders that are kept in step, and what of them can be found."""
    recall: RecallFacet = facet("recollect.memory.recall")
    """What an agent's questions need besides a search."""
    agents: AgentsFacet = facet("recollect.memory.recall")
    """The agents this version knows."""
    usage: UsageFacet = facet("recollect.memory.recall")
    """Tokens and cost."""
    browse: BrowseFacet = facet("recollect.memory.browse")
    """What a view of sessions asks: lists in any order, transcripts part by part, their outline, records, images."""
    saved_searches: SavedSearchesFacet = facet("recollect.memory.notes")
    """Searches that a person keeps."""
    handoff: HandoffFacet = facet("recollect.memory.handoff")
    """Go on with a session: the command of its own agent, or a brief for another one."""
    setup: SetupFacet = facet("recollect.memory.setup")
    """Set agents up to use this memory, and take that out again."""
    live: LiveFacet = facet("recollect.memory.live")
    """Keep this memory fresh as its daemon, or ask the one that does."""
    maintenance: MaintenanceFacet = facet("recollect.memory.maintenance")
    """Verify, doctor, backup, export, rebuild, forget, retention."""

    team: TeamFacet = facet("recollect.memory.team")
    """Share sessions with a team, and ask what it knows."""
    shared_folder: SharedFolderFacet = facet("recollect.memory.shared_folder")
    """See each other's sessions on machines of one person, through a folder."""

    @property
    def context_facet(self) -> ContextFacet:
        """The blocks that hooks give to agents, and their log."""
        from recollect.recall.context.facet import ContextFacet

        settings = self.config.context
        search = partial(self.search, limit=10, sync=False) if settings.per_prompt else None
        return ContextFacet(self.home, self.env, search=search, settings=settings, index=self.text_index)

    @cached_property
    def spool(self) -> SpoolFacet:
        """Agents' events, kept until the next sync ingests them. One object per process: it keeps writers apart."""
        from recollect.ingest.spool import SpoolFacet

        make_home(self.home)
        return SpoolFacet(self.folders.spool, now_us)

    # Inside

    def _ask(self, query: str, limit: int, folders: Sequence[str] | None, zone: tzinfo) -> SearchAnswer:
        known: list[KnownNames] = []  # made where a query has a name in it

        def name_of(field: str, name: str) -> str:
            if not known:
                known.append(self.known_names(folders))
            return known[0](field, name)

        try:
            answer = self._searcher().search(query, limit=limit, now_us=now_us(), zone=zone, names=name_of)
            return msgspec.structs.replace(answer, notes=(*answer.notes, *(n for one in known for n in one.notes)))
        except IndexUnavailable as error:
            note = (
                f"nothing was searched, because the search index cannot be read ({error}); run `recollect doctor --fix`"
            )
            return SearchAnswer(query, (), 0, "none", 0, (note,), False, 0.0)

    def _searcher(self) -> Searcher:
        from recollect.recall.coverage import unsearched
        from recollect.recall.search import Searcher
        from recollect.recall.vector_search import VectorSearch

        reader = self.reader()
        return Searcher(
            self.text_index(),
            reader,
            meaning=VectorSearch(self.embedding.index, self.embedding.entries),
            contextual=self.embedding.contextual(),
            glossary=reader.entries.glossary,
            unsearched=partial(unsearched, reader),
            is_in_turn=self.searches_in_turn,
        )


def _check_store(env: Mapping[str, str]) -> None:
    """Refuse a `HELIX_STORE_DB` that names no memory: an empty one would be asked instead, and find nothing."""
    named = env.get(STORE_VARIABLE, "")
    if not named or env.get(HOME_VARIABLE):
        return
    store = Home(Path(home_of_store(env) or os.devnull))
    if not (store.database.exists() or store.archive.is_dir()):
        raise ConfigError(
            f"{STORE_VARIABLE} names no memory: {named}", key=STORE_VARIABLE,
            hint=f"name an existing {DATABASE_NAME} by its absolute path, or unset the variable",
        )  # fmt: skip
