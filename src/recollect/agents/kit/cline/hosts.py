"""Where the extensions of the Cline family keep their tasks: the global storage of every editor that can host them."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import Capabilities, Place, Root, Table

_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_SERVERS = (".vscode-server", ".vscode-server-insiders", ".cursor-server", ".windsurf-server")


def editor_roots(extension: str) -> tuple[Root, ...]:
    """Return the folder of an extension (lowercase, as on disk) in every editor and on every platform."""
    below = tuple(f"{editor}/User/globalStorage/{extension}" for editor in _EDITORS)
    return (
        *(Root("XDG_CONFIG_HOME", ".config", path) for path in below),
        *(Root("", "Library/Application Support", path) for path in below),
        *(Root("APPDATA", "AppData/Roaming", path) for path in below),
        *(Root("", f"{server}/data/User/globalStorage/{extension}") for server in _SERVERS),
    )


def task_places() -> tuple[Place, ...]:
    """Return the files of a task folder and the index of all tasks. Nothing of `settings`, `checkpoints` or secrets."""
    return (
        Place(
            role="ui",
            container="snapshot",
            patterns=("tasks/*/ui_messages.json", "tasks/*/claude_messages.json"),
            lane=1,
        ),
        Place(role="api", container="snapshot", patterns=("tasks/*/api_conversation_history.json",)),
        Place(role="item", container="snapshot", patterns=("tasks/*/history_item.json",), lane=1),
        Place(role="metadata", container="snapshot", patterns=("tasks/*/task_metadata.json",), lane=1),
        Place(role="context", container="snapshot", patterns=("tasks/*/context_history.json",), lane=1),
        Place(role="index", container="snapshot", patterns=("state/taskHistory.json",), lane=2),
    )


def sdk_places() -> tuple[Place, ...]:
    """Return the sessions of the Cline SDK: messages, the compacted context, the manifest and the database's row."""
    return (
        Place(
            role="sdk",
            container="snapshot",
            patterns=("sessions/*/*.messages.json", "[0-9]*_*/*.messages.json"),
            split=("messages",),
        ),
        Place(
            role="sdk_context",
            container="snapshot",
            patterns=("sessions/*/*.compaction.json", "[0-9]*_*/*.compaction.json"),
            lane=1,
            split=("messages",),
        ),
        Place(
            role="manifest",
            container="snapshot",
            patterns=("sessions/*/*.json", "[0-9]*_*/[0-9]*_*.json"),
            exclude=("**/*.messages.json", "**/*.compaction.json"),
            lane=1,
        ),
        Place(
            role="sessions_db",
            container="sqlite",
            patterns=("db/sessions.db",),
            lane=1,
            tables=(
                Table(
                    name="sessions",
                    document="session_id",
                    order=("session_id",),
                    json=("metadata_json",),
                    stamp="updated_at",
                ),
            ),
        ),
    )


TASK_CAPABILITIES = Capabilities(
    container="snapshot",
    rewrites_history=True,
    timestamps="partly",
    usage="exact",
    usage_authority="api_req_started of the UI log; totals of the history are not added",
    thinking="partly",
    edits="partly",
    lineage="exact",
    session_end="partly",
    kinds=kinds_but("instructions"),
    notes=(
        "A task's API log holds the conversation with exact calls and results; tokens and approvals come from the "
        "UI log, which is read after it. Subtasks name their parent in history_item.json. The end is the task's "
        "own state, which a resumed task takes back."
    ),
    verified_version="unverified",
    verified_on="2026-11-21",
    evidence="format notes: Cline / Roo / Kilo; producer types; synthetic task logs",
    verified_by="source",
)
"""What the logs of a fork can give that has tasks and no sessions of the SDK."""
