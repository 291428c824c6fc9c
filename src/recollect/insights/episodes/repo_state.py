"""Where a session worked at each of its events: directory, repository, branch and commit, as the events say."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any, NamedTuple

from recollect.insights.episodes.timeline import ShellCall, Timeline
from recollect.insights.stream import SessionEvents
from recollect.model.payloads import Lifecycle, SessionStart, ToolResult

_COMMITTED = re.compile(r"^\[(?:detached HEAD|[^\s\]]+)(?: \([a-z-]+\))? ([0-9a-f]{7,40})\]", re.M)
"""What `git commit` prints: `[main 1a2b3c4] subject`, `[main (root-commit) 1a2b3c4] …`. Evidence: git's sequencer.c,
print_commit_summary."""
_COMMITTING = ("commit", "cherry-pick", "revert", "merge")
_HASH = re.compile(r"[0-9a-f]{7,64}")
_OUTPUT_CHARS = 64 * 1024


class RepoState(NamedTuple):
    """Where a session works; "" where nobody said."""

    cwd: str = ""
    root: str = ""
    branch: str = ""
    commit: str = ""

    def is_elsewhere(self, other: RepoState) -> bool:
        """Say whether the other is another place: another repository or branch, or a directory unrelated to this."""
        if self.root and other.root:
            if self.root != other.root:
                return True
        elif self.cwd and other.cwd and not (_holds(self.cwd, other.cwd) or _holds(other.cwd, self.cwd)):
            return True
        return bool(self.branch and other.branch and self.branch != other.branch)


def _holds(folder: str, other: str) -> bool:
    return other == folder or other.startswith(folder.rstrip("/\\") + ("\\" if "\\" in folder else "/"))


class Commit(NamedTuple):
    """A commit made in the session: the place of the event that says so, and its hash as written."""

    position: int
    hash: str


class States:
    """The state in force at any place of a session."""

    def __init__(self, timeline: Timeline, commits: list[Commit]) -> None:
        happened: list[tuple[int, SessionStart | Lifecycle | str]] = [*timeline.changes]
        happened += [(commit.position, commit.hash) for commit in commits]
        happened.sort(key=lambda item: item[0])
        self._places: list[int] = []
        self._states = [RepoState()]
        for position, change in happened:
            self._places.append(position)
            self._states.append(_after(self._states[-1], change))

    def at(self, position: int) -> RepoState:
        """Return the state in force at a place."""
        return self._states[bisect_right(self._places, position)]


def _after(state: RepoState, change: SessionStart | Lifecycle | str) -> RepoState:
    if isinstance(change, str):
        return state._replace(commit=change)
    if isinstance(change, Lifecycle):
        return _moved(state, change.cwd, change.branch)
    state = _moved(state, change.cwd, change.git_branch)
    return state._replace(root=change.repo_root or state.root, commit=change.git_commit or state.commit)


def _moved(state: RepoState, cwd: str, branch: str) -> RepoState:
    """A directory outside of the repository leaves it; another branch has another commit, which nobody named yet."""
    if cwd and cwd != state.cwd:
        state = state._replace(cwd=cwd, root=state.root if state.root and _holds(state.root, cwd) else "")
    if branch and branch != state.branch:
        state = state._replace(branch=branch, commit="" if state.branch else state.commit)
    return state


def commits_of(session: SessionEvents, timeline: Timeline) -> list[Commit]:
    """Return the commits that a session made, in order: told by git's own output, or by the agent itself."""
    found = [Commit(place, named) for place, change in timeline.changes if (named := _named(change))]
    for shell in timeline.shell:
        if shell.result_position is not None and shell.ok is not False and "git" in shell.command:
            found += [Commit(shell.result_position, made) for made in _printed(session, shell)]
    return sorted(found, key=lambda commit: commit.position)


def _named(change: SessionStart | Lifecycle) -> str:
    detail: Any = change.detail if isinstance(change, Lifecycle) and change.name == "commit" else None
    value = detail.get("commit") if isinstance(detail, dict) else None
    return value if isinstance(value, str) and _HASH.fullmatch(value) else ""


def _printed(session: SessionEvents, shell: ShellCall) -> list[str]:
    """Return the hashes that git printed; the output is looked at only where a commit was asked for."""
    event = shell.call.result
    if event is None or not any(verb in shell.command for verb in _COMMITTING):
        return []
    payload = event.payload
    if isinstance(payload, ToolResult) and not payload.text:
        payload = session.whole(event).payload
    return _COMMITTED.findall(payload.text[:_OUTPUT_CHARS]) if isinstance(payload, ToolResult) else []
