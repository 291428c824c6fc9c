"""`memory.team`: join a team, say what it may have of this memory, send that, and ask what the team knows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from recollect.endpoints.team_client import TeamClient
from recollect.errors import TeamForbidden, TeamRefused, UnknownName
from recollect.model.team_messages import AuditPage, JoinRequest, Level, Standing, TeamQuestion
from recollect.recall.answers import TeamAnswer
from recollect.sharing.membership import Membership, read_membership, remove_membership, write_membership
from recollect.sharing.push import PushReport, push

if TYPE_CHECKING:
    from recollect.ingest.home import OpenHome


class TeamFacet:
    """The team of one home. Every method raises TeamUnavailable, TeamRefused and StoreError."""

    def __init__(self, home: OpenHome) -> None:
        self._home = home

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
        """Share a repository at a level from the next push on, or no longer. Raises UnknownName."""
        mine = self.membership()
        shares = dict(mine.shares)
        if level is None:
            if shares.pop(repo, None) is None:
                raise UnknownName("shared repository", repo, nearest=tuple(shares))
        else:
            known = self._home.reader().names("repo")
            if repo not in known:
                near = tuple(name for name in known if repo.casefold() in name.casefold())[:3]
                raise UnknownName("repository", repo, nearest=near, hint="`recollect sessions` shows them")
            shares[repo] = level
        changed = Membership(
            mine.url, mine.token, mine.team, mine.person, mine.machine, mine.expires_at, dict(sorted(shares.items()))
        )
        write_membership(self._home.home, changed)
        return changed

    def push(self, *, show: Callable[[bytes], None] | None = None) -> PushReport:
        """Send what is shared and new, and withdraw what is not shared any more. show: nothing is sent; it is given
        each batch as JSON. Raises StoreLocked while another process pushes."""
        mine = self.membership()
        with self._client(mine) as client:
            return push(self._home, mine, client, show=show)

    def search(self, query: str, *, limit: int | None = None) -> TeamAnswer:
        """Answer a query from what the team shares. The server notes who asked."""
        wanted = max(1, min(limit if limit is not None else self._home.config.search.limit, 200))
        zone_offset_s = time.localtime().tm_gmtoff
        with self._client(self.membership()) as client:
            return client.search(TeamQuestion(query, wanted, zone_offset_s), TeamAnswer)

    def audit(self) -> AuditPage:
        """Return who asked what, and who read sessions of this person."""
        with self._client(self.membership()) as client:
            return client.audit()

    def standing(self) -> Standing:
        """Return how far the server is with this machine."""
        with self._client(self.membership()) as client:
            return client.standing()

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

    def _client(self, mine: Membership) -> TeamClient:
        return TeamClient(mine.url, mine.token)

    def _shares_before(self, team: str) -> dict[str, Level]:
        """Return what was shared with the same team, whose token ran out perhaps."""
        try:
            before = self.membership()
        except TeamRefused:
            return {}
        return before.shares if before.team == team else {}
