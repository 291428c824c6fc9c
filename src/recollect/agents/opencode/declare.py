"""opencode: where it and its relatives write and what their transcripts can give. Facts only."""

from __future__ import annotations

from recollect.model.capabilities import AgentFacts, Capabilities, HookFacts, Member, Place, Root, Table
from recollect.model.payloads import KINDS

TRANSCRIPT = "transcript"
SESSION = "session"
TREE = "tree"

_DATABASES = ("opencode.db", "opencode-*.db", "kilo.db", "kilo-*.db", "mimocode.db", "mimocode-*.db")
"""The stable channel, and `<product>-<channel>.db` of the others."""
_HOME = ".local/share"
"""The products follow XDG on every system, also on macOS and Windows."""
_UNREAD = ("permission", "summary_diffs")
"""Rules of permission; and the contents of changed files, which the edits hold."""
_STAMP = "time_updated"
_SESSION_JSON = ("revert", "model", "metadata", "goal")


def _sessions(name: str) -> Table:
    return Table(name=name, document="id", order=("id",), exclude=_UNREAD, json=_SESSION_JSON, stamp="time_updated")


FACTS = AgentFacts(
    slug="opencode",
    name="opencode",
    aliases=("open-code", "opencode-ai", "kilo-cli", "mimo", "mimocode", "mimo-code"),
    roots=(
        Root(variable="XDG_DATA_HOME", default=_HOME, below="opencode"),
        Root(variable="OPENCODE_DB", default="", is_database=True),
        Root(variable="XDG_DATA_HOME", default=_HOME, below="kilo"),
        Root(variable="XDG_DATA_HOME", default=_HOME, below="mimocode"),
    ),
    places=(
        Place(
            role=TRANSCRIPT,
            container="sqlite",
            patterns=_DATABASES,
            tables=(
                Table(name="message", document="session_id", order=("id",), json=("data",), stamp=_STAMP),
                Table(name="part", document="session_id", order=("message_id", "id"), json=("data",), stamp=_STAMP),
                # "ses_…" stands after every "msg_…": what these rows repeat is known when they come.
                Table(
                    name="session_message",
                    document="session_id",
                    order=("session_id", "seq", "time_created", "id"),
                    json=("data",),
                    stamp=_STAMP,
                ),
                # An undo names the first message that it hides: what stands before that, only these rows tell.
                *(
                    Table(name=name, document="id", order=(":last",), only=("revert",), json=("revert",))
                    for name in ("session", "session_v2")
                ),
            ),
        ),
        Place(
            role=SESSION,
            container="sqlite",
            patterns=_DATABASES,
            tables=(
                _sessions("session"),
                _sessions("session_v2"),
                Table(name="todo", document="session_id", order=("session_id", "position")),
            ),
        ),
        Place(
            role=TREE,
            container="directory",
            patterns=(),
            lane=1,
            members=(
                Member(table="session", pattern="storage/session/{project}/{document}.json"),
                Member(table="message", pattern="storage/message/{document}/{message}.json"),
                Member(table="part", pattern="storage/part/{message}/{part}.json"),
            ),
        ),
    ),
    capabilities=Capabilities(
        container="sqlite",
        rewrites_history=True,
        timestamps="exact",
        usage="exact",
        usage_authority=(
            "step-finish parts, one per model call; message.tokens only of messages without steps; the assistant rows "
            "of session_message. One call is counted once over forks and generations"
        ),
        thinking="exact",
        edits="partly",
        lineage="partly",
        session_end="partly",
        kinds=KINDS,
        notes=(
            "Rows change while a tool runs, and an undo deletes them at the next prompt. A patch names files without "
            "their contents. Forks made before 1.18 name no origin. An archived session is taken for ended."
        ),
        verified_version="1.3.17",
        verified_on="2026-11-21",
        evidence="format notes: opencode; fixtures of git-ai, agent-sessions, deja-vu and moraine",
        verified_by="capture",
    ),
    hooks=HookFacts(shares_call_ids=True),
    parser_version=2,
)
