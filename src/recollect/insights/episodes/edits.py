"""Every successful edit of a session: those that the agent states, and those that its shell scripts make."""

from __future__ import annotations

from typing import NamedTuple

from recollect.insights.content import NOTHING_KNOWN, Lines, lines_of, whole_edit
from recollect.insights.episodes.repo_state import RepoState, States
from recollect.insights.episodes.scripts import folder_of
from recollect.insights.episodes.shell_edits import edits_of_script, moved
from recollect.insights.episodes.timeline import ShellCall, Timeline
from recollect.insights.episodes.unchanged import Replies, changes_nothing
from recollect.insights.stream import SessionEvents, evidence_of
from recollect.model.events import Event
from recollect.model.insights.nodes import EditRef
from recollect.model.payloads import ToolResult

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
    """Return the edits of a session in canonical order; what failed or changed nothing is left out, and what the agent
    states itself is told once.

    A shell call that failed made no edit as far as anybody knows; of an edit without a result the same is not said.
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
