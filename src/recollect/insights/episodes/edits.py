"""The edits and commits of a session in order, and which edits had no effect."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from recollect.insights.commands import command_of
from recollect.insights.edit_lines import DIVIDER, NOTHING_KNOWN, REPLACE, SEARCH, Lines, is_gone, lines_of, whole_edit
from recollect.insights.episodes.shell_edits import edits_of_script, folder_of, moved
from recollect.insights.session_events import Call, SessionEvents, evidence_of
from recollect.insights.subjects import READ_CHARS, ends_with_path
from recollect.late import late_pattern
from recollect.model.events import Event
from recollect.model.insights.nodes import EditRef
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Lifecycle,
    Rewind,
    SessionStart,
    ToolResult,
    UserMessage,
)

_COMMITTED = late_pattern(r"^\[(?:detached HEAD|[^\s\]]+)(?: \([a-z-]+\))? ([0-9a-f]{7,40})\]", re.M)
"""What `git commit` prints: `[main 1a2b3c4] subject`, `[main (root-commit) 1a2b3c4] …`. Evidence: git's sequencer.c,
print_commit_summary."""
_COMMITTING = ("commit", "cherry-pick", "revert", "merge")
_HASH = late_pattern(r"[0-9a-f]{7,64}")
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
    """Return the commits of a session, in order: from git's output, or as the agent records them."""
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
    """Return the hashes that git printed; reads the output only of a commit command."""
    event = shell.call.result
    if event is None or not any(verb in shell.command for verb in _COMMITTING):
        return []
    payload = event.payload
    if isinstance(payload, ToolResult) and not payload.text:
        payload = session.whole(event).payload
    return _COMMITTED.findall(payload.text[:_OUTPUT_CHARS]) if isinstance(payload, ToolResult) else []


class ShellCall(NamedTuple):
    """A shell call in its place. result_position: of its result, None without one."""

    position: int
    call: Call
    command: str
    result_position: int | None

    @property
    def ok(self) -> bool | None:
        """Whether it ended well, None where nobody said."""
        result = self.call.result.payload if self.call.result else None
        if not isinstance(result, ToolResult) or (result.ok is None and result.exit_code is None):
            return None
        return result.ok is not False and not result.exit_code

    @property
    def is_done(self) -> bool:
        """Whether its result came and tells of no failure."""
        return self.call.result is not None and self.ok is not False


class Timeline(NamedTuple):
    """What a session holds that episodes are made of; every list in canonical order, each item with its place."""

    edits: list[tuple[int, Event, FileEdit]]
    shell: list[ShellCall]
    changes: list[tuple[int, SessionStart | Lifecycle]]
    """Session starts, and what changes directory or branch or names a commit."""
    requests: list[tuple[int, int]]
    """Places of human messages, with their characters."""
    turn_ends: dict[int, int]
    """The place behind the last event of each turn."""
    breaks: list[int]
    """Places where the session went back, or where a branch begins that was left: no episode continues across one."""


def timeline_of(session: SessionEvents) -> Timeline:
    """Return the items that make up episodes. Fetches commands that light events omit."""
    found = Timeline([], [], [], [], {}, [])
    was_undone = False
    for position, event in enumerate(session.events):
        found.turn_ends[event.turn_index] = position + 1
        payload = event.payload
        if type(payload) is Rewind or event.is_undone != was_undone:
            found.breaks.append(position)
        was_undone = event.is_undone
        if type(payload) not in _TYPES:
            continue
        if isinstance(payload, FileEdit):
            if payload.operation != "checkpoint" and (payload.path or payload.new_path):
                found.edits.append((position, event, payload))
        elif isinstance(payload, UserMessage):
            if payload.origin in ("human", "queued"):
                found.requests.append((position, len(payload.text)))
        elif isinstance(payload, SessionStart) or (
            isinstance(payload, Lifecycle) and (payload.cwd or payload.branch or payload.name == "commit")
        ):
            found.changes.append((position, payload))
    places = session.positions
    for call in session.calls.values():
        if call.call.canonical == "shell":
            ended = places[call.result.event_id, call.result.part] if call.result else None
            position = places[call.event.event_id, call.event.part]
            found.shell.append(ShellCall(position, call, command_of(session, call.event), ended))
    return found


_TYPES = frozenset((FileEdit, UserMessage, SessionStart, Lifecycle))


MAX_COUNTED = 2_000
"""Edits of a session whose texts are read: their lines are counted, and those that change nothing are left out."""


class Edit(NamedTuple):
    """An edit in its place. event: the edit itself, or the call of the script that made it (is_shell)."""

    position: int
    event: Event
    path: str
    operation: str
    new_path: str
    is_shell: bool
    state: RepoState
    added: int | None
    removed: int | None

    def reference(self) -> EditRef:
        """Return what an episode keeps of it."""
        evidence = evidence_of(self.event, "command" if self.is_shell else "edit")
        return EditRef(self.path, self.operation, evidence, self.added, self.removed)

    def paths(self) -> tuple[str, ...]:
        """Return the paths that it touched, as written."""
        return tuple(path for path in (self.path, self.new_path) if path)


def edits_in(session: SessionEvents, timeline: Timeline, states: States) -> list[Edit]:
    """Return the edits of a session in canonical order, without failed and ineffective ones, each once.

    A failed shell call counts as no edit; an edit without a result does count.
    """
    found: list[Edit] = []
    replies = Replies(session)
    for number, (position, event, stated) in enumerate(timeline.edits):
        if _failed(session, event):
            continue
        lines = NOTHING_KNOWN
        if number < MAX_COUNTED:
            whole = whole_edit(session, event)
            lines = lines_of(whole)
            if changes_nothing(whole, lines) or replies.change_nothing(position, event, whole):
                continue
        found.append(
            Edit(
                position, event, stated.path, stated.operation, stated.new_path, False,
                states.at(position), *_counted(lines),
            )
        )  # fmt: skip
    calls = {edit.call_id for _, _, edit in timeline.edits if edit.call_id}
    for shell in timeline.shell:
        if shell.is_done and shell.call.call.call_id not in calls:
            found += _of_script(shell, states.at(shell.position))
    return sorted(found, key=lambda edit: edit.position)


def _failed(session: SessionEvents, event: Event) -> bool:
    call = session.call_of(event)
    result = call.result.payload if call is not None and call.result else None
    return isinstance(result, ToolResult) and (result.ok is False or bool(result.exit_code))


def _of_script(shell: ShellCall, state: RepoState) -> list[Edit]:
    folder = folder_of(shell.call.call)
    if folder.startswith("/"):
        state = state._replace(cwd=folder)
    within = "" if folder.startswith("/") else folder
    return [
        Edit(
            shell.position, shell.call.event, edit.path, edit.operation, edit.new_path, True, state,
            *_counted(edit.lines),
        )
        for edit in (moved(edit, within) for edit in edits_of_script(shell.command, state.cwd))
    ]  # fmt: skip


def _counted(lines: Lines) -> tuple[int | None, int | None]:
    added, removed = lines
    return None if added is None else len(added), None if removed is None else len(removed)


_NAME_WITHIN = 3
"""Lines before a block of which one names its file."""
_NAME_CHARS = 1_000
_AROUND_NAME = "`*#: \t"
_FENCES = ("```", "~~~", "<")


class Block(NamedTuple):
    """A SEARCH/REPLACE block: the file that is named before it, as written ("" for none), and whether its sides
    differ."""

    path: str
    is_change: bool


def changes_nothing(edit: FileEdit, lines: Lines) -> bool:
    """Say whether both sides of an edit are the same. lines: what `lines_of` says of it. False where nobody knows."""
    if edit.operation not in ("create", "modify") or edit.new_path not in ("", edit.path):
        return False
    if edit.before is not None and edit.after is not None:
        return bool(edit.before) and edit.before == edit.after and not is_gone(edit.before)
    added, removed = lines
    if not (edit.diff and added and removed) or len(added) != len(removed):
        return False
    blocks = _blocks(edit.diff)
    if blocks:
        return not any(block.is_change for block in blocks)
    told = edit.diff.splitlines()
    first = next((number for number, line in enumerate(told) if line.startswith("@@")), 0)  # behind the files' names
    hunks = told[first:]
    return [line[1:] for line in hunks if line[:1] != "+"] == [line[1:] for line in hunks if line[:1] != "-"]


class Replies:
    """The replies of a session, where an edit without any text of its own has it: as SEARCH/REPLACE blocks."""

    def __init__(self, session: SessionEvents) -> None:
        self._session = session
        self._read: dict[int, list[Block]] = {}

    def change_nothing(self, position: int, event: Event, edit: FileEdit) -> bool:
        """Return whether the reply before an edit, in its turn, repeats only the file's present content."""
        if edit.call_id or edit.diff or edit.before is not None or edit.after is not None:
            return False
        number = bisect_left(self._places, position) - 1
        if number < 0:
            return False
        reply = self._session.of(AssistantMessage)[number]
        if reply.turn_index != event.turn_index or not isinstance(reply.payload, AssistantMessage):
            return False
        if number not in self._read:
            self._read[number] = _blocks(reply.payload.text[:READ_CHARS])
        blocks = self._read[number]
        if all(block.is_change for block in blocks):
            return False
        of_file = [block.is_change for block in blocks if ends_with_path(edit.path, block.path)]
        return bool(of_file) and not any(of_file)

    @cached_property
    def _places(self) -> list[int]:
        places = self._session.positions
        return [places[event.event_id, event.part] for event in self._session.of(AssistantMessage)]


def _blocks(text: str) -> list[Block]:
    """Return the blocks of a text that are whole. One without a name before it is of the file of the one before."""
    return [
        block for opening, closing in zip(SEARCH, REPLACE, strict=True) for block in _between(text, opening, closing)
    ]


def _between(text: str, opening: str, closing: str) -> Iterator[Block]:
    path = ""
    start = text.find(opening)
    while start >= 0:
        end = text.find("\n" + closing, start)
        if end < 0:
            return
        sides = text[text.find("\n", start) : end + 1]
        before, divider, after = sides.partition(f"\n{DIVIDER}\n")
        if divider:
            path = _name_before(text, start) or path
            yield Block(path, f"{before}\n" != f"\n{after}")
        start = text.find(opening, end)


def _name_before(text: str, start: int) -> str:
    """Return the file named right before a place, "" for none: one word in a line that is no fence."""
    for line in reversed(text[max(0, start - _NAME_CHARS) : start].splitlines()[-_NAME_WITHIN:]):
        name = line.strip(_AROUND_NAME)
        if line.startswith(REPLACE):
            return ""
        if name and not line.startswith(_FENCES):
            return name if len(name.split()) == 1 else ""
    return ""
