"""The check of repositories that are excluded, though sessions of them are stored."""

from __future__ import annotations

from recollect.erasure.repositories import excluded_repos, is_of
from recollect.maintenance.doctor.context import Desk
from recollect.maintenance.reports import Check
from recollect.store.ports import EventFilter, Reader
from recollect.units import plural

_MANY_SESSIONS = 1_000_000


def excluded(desk: Desk, reader: Reader) -> Check:
    """Say whether sessions of excluded repositories were stored before these were excluded; nothing removes them."""
    patterns = excluded_repos(desk.config, desk.env)
    if not patterns:
        return Check("excluded repositories", "ok", "none is excluded", id="excluded")
    sessions, _total = reader.sessions(EventFilter(), limit=_MANY_SESSIONS)
    stored = [s for s in sessions if is_of(patterns, repo=s.repo, repo_root=s.repo_root, cwd=s.cwd)]
    if not stored:
        return Check("excluded repositories", "ok", "nothing of them is stored", id="excluded")
    repos = sorted({s.repo for s in stored})
    text = f"{plural(len(stored), 'session')} of them came before: {', '.join(repos[:5])}"
    return Check("excluded repositories", "warn", text, "`recollect forget --repo NAME` takes them out", id="excluded")
