"""Memscribe's expected events put through our stages, and its expected nodes, in one plain form to be compared.

Levels 2 and 3 of `shared/reference/decision-capture.md`, section 6.2: no adapter takes part. A message is named by its
rank among the messages of its session, since both number events in their own way.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from recollect.insights import prepare
from recollect.model.events import Event, Role, SourceLocation
from recollect.model.insights.nodes import Binding, Conversation, Decision, Episode, Node
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    FileEdit,
    Payload,
    Rewind,
    SessionEnd,
    SessionStart,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
    kind_of,
)
from recollect.model.tools import canonical_tool
from tests.conformance.memscribe import Case

_EPOCH = "1970-01-01T00:00:00Z"
_ROLES: dict[str, Role] = {"user_message": "user", "assistant_message": "assistant", "tool_result": "tool"}


def events_of(case: Case) -> list[Event]:
    """Return their expected events as ours."""
    found = []
    turns: dict[str, int] = defaultdict(int)
    for seq, theirs in enumerate(json.loads(case.expected.read_text("utf-8"))):
        payload = _payload(theirs["kind"])
        if payload is None:
            continue
        session = theirs["session_id"]
        if isinstance(payload, UserMessage):
            turns[session] += 1
        place = theirs["provenance"]
        found.append(
            Event(
                session_uid=f"demo:{session}",
                seq=seq,
                event_id=theirs["event_id"],
                part=0,
                kind=kind_of(payload),
                payload=payload,
                location=SourceLocation("s-demo", 1, place["byte_offset"], 1, place["line_no"] - 1, "00" * 32),
                parent_id=theirs["parent_id"],
                ts=_micros(theirs["timestamp"]),
                ts_quality="missing" if theirs["timestamp"] == _EPOCH else "exact",
                role=_ROLES.get(kind_of(payload), "system"),
                turn_index=turns[session],
            )
        )
    return found


def _payload(kind: dict[str, Any]) -> Payload | None:
    match kind["event"]:
        case "session_start":
            git = kind["git"] or {}
            return SessionStart(cwd=kind["cwd"], git_branch=git.get("branch") or "", git_commit=git.get("sha") or "")
        case "user_turn":
            return UserMessage(text=kind["text"]) if kind["text"] else None
        case "assistant_turn":
            return AssistantMessage(text=kind["text"], model=kind["model"] or "") if kind["text"] else None
        case "tool_call":
            name = kind["name"]
            return ToolCall(kind["call_id"], name, canonical_tool(name), kind["args"])
        case "tool_result":
            output = kind["output"]
            text = output if isinstance(output, str) else json.dumps(output)
            return ToolResult(call_id=kind["call_id"], ok=kind["ok"], text=text)
        case "file_edit":
            diff = kind["diff"]
            return FileEdit(
                path=diff["path"], before=diff["old"], after=diff["new"], diff=diff["unified"] or "",
                call_id=kind["call_id"] or "",
            )  # fmt: skip
        case "compaction":
            return Compaction()
        case "rewind":
            return Rewind(to_event=kind["to_event"])
        case "session_end":
            return SessionEnd()
        case _:
            return Unknown(type=kind.get("raw_type", ""))


def _micros(stamp: str) -> int | None:
    if stamp == _EPOCH:
        return None
    return round(datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp() * 1_000_000)


# Both, as lines


def _ranks(case: Case) -> dict[tuple[str, int], int]:
    """Return the rank of each of their messages with text, by session and seq."""
    ranks: dict[tuple[str, int], int] = {}
    count: dict[str, int] = defaultdict(int)
    for event in json.loads(case.expected.read_text("utf-8")):
        if event["kind"]["event"] in ("user_turn", "assistant_turn") and event["kind"]["text"]:
            ranks[event["session_id"], event["seq"]] = count[event["session_id"]]
            count[event["session_id"]] += 1
    return ranks


def _decision_line(rank: int, is_ban: bool, chosen: list[str], rejected: list[str]) -> str:
    options = f"+{sorted(w.lower() for w in chosen)} -{sorted(w.lower() for w in rejected)}".replace("'", "")
    return f"decision at message {rank}{' ban' if is_ban else ''} {options}"


def their_lines(case: Case) -> list[str]:
    """Return their expected nodes as lines, sorted. Left out: markers, correlation, ids."""
    nodes = json.loads(_nodes_file(case).read_text("utf-8"))
    ranks = _ranks(case)
    by_seq = {seq: rank for (_, seq), rank in ranks.items()}
    return sorted(_their_lines(nodes, ranks, by_seq))


def _their_lines(
    nodes: list[dict[str, Any]], ranks: dict[tuple[str, int], int], by_seq: dict[int, int]
) -> Iterator[str]:
    episodes = {f"episode:{n['episode_id']}": n["path"] for n in nodes if n["node"] == "episode"}
    for node in nodes:
        match node["node"]:
            case "conversation":
                yield f"conversation at message {ranks[node['session_id'], node['turn_range']['start']]}"
            case "decision":
                options = node["considered_options"]
                yield _decision_line(
                    by_seq[node["source_span"]["start"]],
                    node["is_ban"],
                    [o["text"] for o in options if o["chosen"]],
                    [o["text"] for o in options if not o["chosen"]],
                )
            case "episode":
                yield f"edit {node['path']}"
            case "binding":
                _, _, seq = node["from"].rpartition(":")
                yield f"binding message {by_seq[int(seq)]} to {episodes[node['to']]}"


def our_lines(case: Case) -> list[str]:
    """Return what our stages make of their events, as lines, sorted; an episode counts by its edits."""
    events = events_of(case)
    ranks: dict[tuple[str, str], int] = {}
    count: dict[str, int] = defaultdict(int)
    for event in events:
        if isinstance(event.payload, UserMessage | AssistantMessage):
            ranks[event.session_uid, event.event_id] = count[event.session_uid]
            count[event.session_uid] += 1
    return sorted(_our_lines(prepare(events), ranks))


def _our_lines(nodes: list[Node], ranks: dict[tuple[str, str], int]) -> Iterator[str]:
    by_id: dict[str, Node] = {node.id: node for node in nodes}

    def rank(node: Node) -> int:
        places = [(e.session_uid, e.event_id) for e in node.evidence if e.role in ("statement", "confirmation")]
        return max(ranks[place] for place in places)

    for node in nodes:
        if isinstance(node, Conversation):
            yield f"conversation at message {max(ranks[e.session_uid, e.event_id] for e in node.evidence)}"
        elif isinstance(node, Decision):
            yield _decision_line(rank(node), node.polarity == "ban", list(node.chosen), list(node.rejected))
        elif isinstance(node, Episode):
            yield from (f"edit {edit.path}" for edit in node.edits)
        elif isinstance(node, Binding) and isinstance(source := by_id[node.source], Decision):
            episode = by_id[node.episode]
            assert isinstance(episode, Episode)
            yield from (f"binding message {rank(source)} to {edit.path}" for edit in episode.edits)


def _nodes_file(case: Case) -> Path:
    return case.expected.with_name(case.expected.name.replace(".events.", ".nodes."))


def node_differences(case: Case) -> list[str]:
    """Return how we differ from them: `- ` for what only they say, `+ ` for what only we say."""
    mine, yours = our_lines(case), their_lines(case)
    gone, came = list(yours), []
    for line in mine:
        if line in gone:
            gone.remove(line)
        else:
            came.append(line)
    return [f"- {line}" for line in gone] + [f"+ {line}" for line in came]


def node_shape(case: Case) -> dict[str, int]:
    """Return how many nodes of each kind there are, as the nine scenarios count: an edit is an episode of theirs."""
    counts = {"conversation": 0, "decision": 0, "ban": 0, "edit": 0, "binding": 0}
    for line in our_lines(case):
        counts[line.partition(" ")[0]] += 1
        counts["ban"] += " ban " in line
    return counts
