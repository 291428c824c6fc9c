"""The verbs of the command line: their place in the help, and which ones print memory content.

A table without the commands: `recollect --help` reads it and loads no command, and `model.own` reads in it whose output
is not to be remembered again. Standard library only.
"""

from __future__ import annotations

import keyword
from typing import NamedTuple


class Verb(NamedTuple):
    """One verb: its name, its group, the module of `cli.commands` that has it, and the first line of its help.

    recalls: whether it, or a subcommand of it, prints what is in the memory. An agent that runs it reads what it or
    another agent did before; that output is not remembered again.
    """

    name: str
    group: str
    module: str
    line: str
    recalls: bool = False


VERBS: tuple[Verb, ...] = (
    Verb("up", "keep", "daemon", "Ingest what your agents wrote, then keep watching.", recalls=True),
    Verb("sync", "keep", "ingest", "Ingest what is new or changed."),
    Verb("docs", "keep", "documents", "Search the documents of your projects.", recalls=True),
    Verb("import", "keep", "ingest", "Ingest files and folders that you name."),
    Verb("export", "keep", "backup", "Write sessions to files, redacted or as exact bytes.", recalls=True),
    Verb("service", "keep", "daemon", "Keep the memory up to date with a system service."),
    Verb("search", "find", "sessions", "Search everything your agents did.", recalls=True),
    Verb("ui", "find", "daemon", "Open the web page: search, sessions, transcripts."),
    Verb("tui", "find", "daemon", "Search and read in the terminal."),
    Verb("sessions", "find", "sessions", "List sessions, newest first.", recalls=True),
    Verb("show", "find", "sessions", "Show a session, or one event and its neighbours.", recalls=True),
    Verb("timeline", "find", "sessions", "List events in order, one line each.", recalls=True),
    Verb("resume", "find", "handoff", "Resume a session in its own agent."),
    Verb("handoff", "find", "handoff", "Write a brief about a session for another agent.", recalls=True),
    Verb("decisions", "find", "insights", "Show decisions and whether they still hold.", recalls=True),
    Verb("blame", "find", "insights", "Show which session, turn and decision led to a line.", recalls=True),
    Verb("context", "find", "handoff", "Show the context that an agent gets when a session starts here.", recalls=True),
    Verb("digest", "learn", "insights", "Summarise one session: outcome, cost, errors.", recalls=True),
    Verb("retro", "learn", "insights", "Report on a period: outcomes, cost, errors, decisions.", recalls=True),
    Verb("learnings", "learn", "learnings", "Show what was learned; confirm or correct it.", recalls=True),
    Verb("actions", "learn", "learnings", "Show what sessions left to do; mark it as done.", recalls=True),
    Verb("diary", "learn", "notes", "Read and write diaries: your agents' and yours.", recalls=True),
    Verb("facts", "learn", "notes", "Keep facts, each with the period in which it holds.", recalls=True),
    Verb("tag", "learn", "notes", "Tag sessions, to find them again with tag:NAME.", recalls=True),
    Verb("undo", "learn", "notes", "Undo what one run learned, derived or imported.", recalls=True),
    Verb("usage", "learn", "stats", "Show tokens and cost.", recalls=True),
    Verb("stats", "learn", "stats", "Show how much is stored, how often it is used and what it cost.", recalls=True),
    Verb("agents", "connect", "agents", "List the agents that Recollect reads, and their folders.", recalls=True),
    Verb("setup", "connect", "agents", "Give your agents access to this memory, or take it away."),
    Verb("mcp", "connect", "daemon", "Serve the memory to agents (MCP).", recalls=True),
    Verb("otlp", "connect", "daemon", "Receive what agents send over OpenTelemetry (OTLP/HTTP)."),
    Verb("hook", "connect", "daemon", "Handle one event of an agent; the agent's hooks call this.", recalls=True),
    Verb("conformance", "connect", "agents", "Check an adapter against its fixtures."),
    Verb("sync-folder", "connect", "team", "Share sessions between your machines, through a folder."),
    Verb("team", "connect", "team", "Share sessions with a team, and serve its memory.", recalls=True),
    Verb("doctor", "maintain", "backup", "Check the health of the memory."),
    Verb("embed", "maintain", "ingest", "Compute the vectors for searching by meaning."),
    Verb("verify", "maintain", "backup", "Prove that every stored byte can be restored.", recalls=True),
    Verb("repair", "maintain", "backup", "Repair what is damaged in the memory."),
    Verb("backup", "maintain", "backup", "Make a consistent copy of the memory."),
    Verb("restore", "maintain", "backup", "Replace the memory with a backup."),
    Verb("evict", "maintain", "erasure", "Delete raw text that is over the limits.", recalls=True),
    Verb("pin", "maintain", "erasure", "Pin a session, so that it is never evicted.", recalls=True),
    Verb("rebuild", "maintain", "ingest", "Rebuild the index, or everything, from the archive."),
    Verb("config", "maintain", "config", "Show the configuration in force."),
    Verb("schema", "maintain", "config", "Print the JSON Schema of a result."),
    Verb("help", "maintain", "config", "Read the documentation in the terminal."),
    Verb("redact", "maintain", "erasure", "Replace the secrets in a text with markers."),
    Verb("reveal", "maintain", "erasure", "Show original text, secrets included; this is logged.", recalls=True),
    Verb("exclude", "maintain", "erasure", "Keep a repository out of the memory."),
    Verb("forget", "maintain", "erasure", "Erase sessions or records for good.", recalls=True),
    Verb("keys", "maintain", "erasure", "Show, rotate or move the archive's key."),
    Verb("parse", "pipes", "pipes", "Turn a transcript into events, or into decisions."),
    Verb("replay", "pipes", "pipes", "Replay a transcript step by step."),
    Verb("watch", "pipes", "pipes", "Follow the memory or transcripts as they grow.", recalls=True),
)


_BUILTINS = ("help",)
"""Verbs that are named as functions of Python."""


def function_name(verb: str) -> str:
    """Return the function of a verb in its module: its name, with an underscore for a hyphen, and where Python has
    that name already."""
    name = verb.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) or name in _BUILTINS else name


GROUPS: tuple[str, ...] = tuple(dict.fromkeys(verb.group for verb in VERBS))
RECALLING: frozenset[str] = frozenset(verb.name for verb in VERBS if verb.recalls)
"""The verbs whose output is not remembered."""
