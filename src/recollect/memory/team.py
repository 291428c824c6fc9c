"""`memory.team`: joins a team, sets what is shared, pushes it, and asks the team."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from recollect.clock import now_us
from recollect.endpoints.team_client import TeamClient
from recollect.errors import TeamError, TeamForbidden, TeamRefused, UnknownName
from recollect.index.query.grammar import parse
from recollect.memory.facets import HomeFacet
from recollect.model.team_citation import read_citation
from recollect.model.team_messages import (
    AuditPage,
    JoinRequest,
    Level,
    MembersPage,
    Standing,
    TeamQuestion,
    TeamSessionsQuestion,
    TeamShowQuestion,
    TeamUsageBy,
    TeamUsageQuestion,
)
from recollect.model.usage import UsageReport
from recollect.recall.answers import TeamAnswer
from recollect.recall.decisions import DecisionQuestion
from recollect.recall.team_answers import TeamDecisionsAnswer, TeamDecisionsQuestion, TeamSessionPage, TeamSessionView
from recollect.sharing.automatic import push_and_note, read_state
from recollect.sharing.content import SharedMeaning, known_repositories, repository_of
from recollect.sharing.membership import Membership, read_membership, remove_membership, write_membership
from recollect.sharing.push import PushReport, push, waiting_sessions
from recollect.store.rows import EventFilter

if TYPE_CHECKING:
    from recollect.sharing.push import ArchivePart, FoundArchives

T = TypeVar("T")


class TeamStatus(msgspec.Struct, frozen=True):
    """How this machine stands with its team. pushed_at: when the last push came through, UTC microseconds. failure: why
    the last one did not. waiting: sessions that the next push sends or withdraws. server: what it says; None where it
    does not answer, and problem says why."""

    team: str
    person: str
    machine: str
    url: str
    shares: dict[str, Level]
    pushed_at: int | None
    failure: str
    waiting: int
    server: Standing | None
    problem: str = ""


class TeamFacet(HomeFacet):
    """The team of one home. Every method raises TeamUnavailable, TeamRefused and StoreError."""

    def membership(self) -> Membership:
        """Return which team this memory belongs to, and what it shares."""
        return read_membership(self._home.home)

    def join(self, url: str, code: str, machine: str) -> Membership:
        """Join a team with an invitation. Nothing is shared yet. Raises ConfigError for an address."""
        with TeamClient(url) as client:
            joined = client.join(JoinRequest(code.strip(), machine))
        found = Membership(
            url.rstrip("/"), joined.token, joined.team, joined.person, joined.machine, joined.expires_at,
            shares=self._shares_before(joined.team),
        )  # fmt: skip
        write_membership(self._home.home, found)
        return found

    def share(self, repo: str, level: Level | None) -> Membership:
        """Share a repository at a level from the next push on, or no longer. repo: its name, or one of its places where
        several have that name. Raises UnknownName."""
        mine = self.membership()
        if level is None:
            meant = [key for key in mine.shares if repo in (key, key.rpartition("/")[2])]
            if not meant:
                raise UnknownName("shared repository", repo, nearest=tuple(mine.shares))
            if len(meant) > 1:
                raise TeamRefused(f"{repo} means {' and '.join(meant)}", hint="name one of them by its place")
            shares = {key: kept for key, kept in mine.shares.items() if key not in meant}
        else:
            found = repository_of(repo, known_repositories(self._home.reader().session_places()))
            shares = {key: kept for key, kept in mine.shares.items() if not found.is_meant(key)}
            shares[found.places[0]] = level
        changed = msgspec.structs.replace(mine, shares=dict(sorted(shares.items())))
        write_membership(self._home.home, changed)
        return changed

    def push(self, *, show: Callable[[bytes], None] | None = None) -> PushReport:
        """Send what is shared and new, and withdraw what is not shared any more. show: nothing is sent; it is given
        each batch as JSON. Raises StoreLocked while another process pushes."""
        if show is None:
            return push_and_note(self._home)
        mine = self.membership()
        with self._client(mine) as client:
            return push(self._home, mine, client, show=show)

    def search(self, query: str, *, limit: int | None = None) -> TeamAnswer:
        """Answer a query from what the team shares. The server notes who asked, here and below."""
        wanted = max(1, min(limit if limit is not None else self._home.config.search.limit, 200))
        zone_offset_s = time.localtime().tm_gmtoff
        words = [word.text for word in parse(query, now_us(), self._home.zone).words]
        meaning = SharedMeaning(self._home)
        vectors = meaning.of_texts([" ".join(words)]) if len(words) > 1 else ()
        asked = TeamQuestion(query, wanted, zone_offset_s, meaning.model, vectors[0] if vectors else b"")
        return self._ask("search", asked, TeamAnswer)

    def sessions(
        self, where: EventFilter, *, after: int | None = None, before: int | None = None, limit: int = 20,
        offset: int = 0,
    ) -> TeamSessionPage:  # fmt: skip
        """Return sessions of the team, newest first. where: agents and repositories. Raises UnknownName for an
        agent."""
        asked = TeamSessionsQuestion(self._agents(where), where.repos, after, before, limit, offset)
        return self._ask("sessions", asked, TeamSessionPage)

    def show(self, cited: str, *, first: int = 0, limit: int = 100) -> TeamSessionView:
        """Return a session with its events from number `first` on, or the event that is cited and its neighbours. The
        person whose session it is can see who opened it. Raises UsageError for what is not a citation."""
        read_citation(cited)
        return self._ask("show", TeamShowQuestion(cited, first, limit), TeamSessionView)

    def decisions(self, question: DecisionQuestion, *, limit: int = 50) -> TeamDecisionsAnswer:
        """Return what was decided in the team, newest first. The question's session may be a citation."""
        return self._ask("decisions", TeamDecisionsQuestion(question, limit), TeamDecisionsAnswer)

    def usage(
        self, by: TeamUsageBy, where: EventFilter, *, after: int | None = None, before: int | None = None
    ) -> UsageReport:
        """Return what the work of the team cost, to leads and owners, else one's own. Raises UnknownName for an
        agent."""
        return self._ask("usage", TeamUsageQuestion(by, self._agents(where), where.repos, after, before), UsageReport)

    def members(self) -> MembersPage:
        """Return who belongs to the team; to owners also what their machines share."""
        return self._ask("members", None, MembersPage)

    def archives(
        self, folders: Sequence[Path], *, level: Level, repos: Sequence[str] = ()
    ) -> tuple[FoundArchives, list[ArchivePart]]:
        """Return what folders hold, and the parts in which it can be imported, see `sharing.push`.

        repos: empty: all that have a name. Raises SourceUnavailable.
        """
        from recollect.archive.keys import archives_key, load_keys
        from recollect.sharing.push import find_archives, parts_of

        self._home.make_keys()
        key = archives_key(load_keys(self._home.folders.keys))
        found = find_archives(folders, self._home.config)
        return found, list(parts_of(found, level=level, repos=repos, data_key=key, config=self._home.config))

    def audit(self) -> AuditPage:
        """Return who asked what, and who read sessions of this person."""
        return self._ask("audit", None, AuditPage)

    def status(self) -> TeamStatus:
        """Return what is shared, how the last push went and what waits for the next; without a word from the server
        where it does not answer."""
        mine = self.membership()
        pushed = read_state(self._home.home, mine.team)
        standing, problem = None, ""
        try:
            with TeamClient(mine.url, mine.token, attempts=1) as client:
                standing = client.standing()
        except TeamError as error:
            problem = str(error)
        return TeamStatus(
            mine.team, mine.person, mine.machine, mine.url, mine.shares, pushed.pushed_at, pushed.failure,
            waiting_sessions(self._home, mine, standing), standing, problem,
        )  # fmt: skip

    def leave(self) -> Membership:
        """Withdraw all that this machine shared, and forget the team. A token that holds no more can withdraw nothing:
        then only this side forgets, and TeamForbidden says so."""
        mine = self.membership()
        try:
            with self._client(mine) as client:
                client.leave()
        except TeamForbidden as error:
            remove_membership(self._home.home)
            raise TeamForbidden(
                f"{error}; this memory has left, and what it had shared stays with the team",
                hint="ask an owner to remove it",
            ) from error
        remove_membership(self._home.home)
        return mine

    def _ask(self, name: str, asked: msgspec.Struct | None, kind: type[T]) -> T:
        """Ask once: a person who waits learns at once that the server is away."""
        mine = self.membership()
        with TeamClient(mine.url, mine.token, attempts=1) as client:
            return client.ask(name, asked, kind)

    def _agents(self, where: EventFilter) -> tuple[str, ...]:
        return self._home.known_names().filter(EventFilter(agents=where.agents)).agents

    def _client(self, mine: Membership) -> TeamClient:
        return TeamClient(mine.url, mine.token)

    def _shares_before(self, team: str) -> dict[str, Level]:
        """Return what was shared with the same team, whose token ran out perhaps."""
        try:
            before = self.membership()
        except TeamRefused:
            return {}
        return before.shares if before.team == team else {}
