"""The verbs of the command line: how the help shows them, and which print what is in the memory.

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
    Verb("up", "keep", "daemon", "Take in what your agents wrote and go on writing.", recalls=True),
    Verb("sync", "keep", "ingest", "Ingest what is new or changed."),
    Verb("docs", "keep", "documents", "Have the documents of your projects found, too.", recalls=True),
    Verb("import", "keep", "ingest", "Ingest what you name; without PATH, what your agents wrote."),
    Verb("export", "keep", "backup", "Write sessions to files: redacted, or their exact bytes.", recalls=True),
    Verb("service", "keep", "daemon", "Keep the memory fresh by itself, as a service of the system."),
    Verb("search", "find", "search", "Find events in everything your agents did.", recalls=True),
    Verb("sessions", "find", "sessions", "List sessions, newest first.", recalls=True),
    Verb("show", "find", "sessions", "Show a session, or one event with its neighbours.", recalls=True),
    Verb("timeline", "find", "sessions", "Show what happened, in order, one line per event.", recalls=True),
    Verb("decisions", "find", "insights", "Show what was decided and what became of it.", recalls=True),
    Verb("blame", "find", "insights", "Show which session, turn and decision led to a line.", recalls=True),
    Verb("context", "find", "context", "Show what an agent is given when a session starts here.", recalls=True),
    Verb("digest", "learn", "insights", "Show what one session came to.", recalls=True),
    Verb("retro", "learn", "stats", "Look back: outcomes, cost, errors and their fixes, decisions.", recalls=True),
    Verb("learnings", "learn", "learnings", "Show what was learned, and say what of it is right.", recalls=True),
    Verb("actions", "learn", "learnings", "Show what sessions left to be done, and mark it as done.", recalls=True),
    Verb("diary", "learn", "notes", "Read and write the diaries of your agents, and yours.", recalls=True),
    Verb("facts", "learn", "notes", "Show and keep facts, each with the time in which it holds.", recalls=True),
    Verb("tag", "learn", "notes", "Give sessions tags, to find them again with tag:NAME.", recalls=True),
    Verb("undo", "learn", "notes", "Retire all that one run learned, derived or imported.", recalls=True),
    Verb("usage", "learn", "stats", "Show tokens and cost.", recalls=True),
    Verb("stats", "learn", "stats", "Show what is in the memory, its use, or what sessions came to.", recalls=True),
    Verb("agents", "plug in", "agents", "List the agents that can be read and where their history is.", recalls=True),
    Verb("setup", "plug in", "agents", "Let your agents use this memory, or stop it."),
    Verb("mcp", "plug in", "servers", "Let agents search and read the memory (MCP).", recalls=True),
    Verb("otlp", "plug in", "servers", "Receive what agents send over OpenTelemetry (OTLP/HTTP)."),
    Verb("hook", "plug in", "servers", "Handle one event of an agent: what its hooks call.", recalls=True),
    Verb("conformance", "plug in", "agents", "Check an adapter with its fixtures."),
    Verb("doctor", "look after", "health", "Check the health of the memory."),
    Verb("embed", "look after", "ingest", "Make the vectors that searching by meaning needs."),
    Verb("verify", "look after", "health", "Prove that every stored byte and record can be given back.", recalls=True),
    Verb("repair", "look after", "health", "Repair what is damaged in the memory."),
    Verb("backup", "look after", "backup", "Copy the memory, as it is at one moment."),
    Verb("restore", "look after", "backup", "Let a backup take the memory's place."),
    Verb("evict", "look after", "erasure", "Bring the memory within its bounds.", recalls=True),
    Verb("pin", "look after", "erasure", "Have a session kept whole.", recalls=True),
    Verb("rebuild", "look after", "ingest", "Derive the index, or everything, again from the archive."),
    Verb("config", "look after", "config", "Show the configuration in force."),
    Verb("schema", "look after", "config", "Print the JSON Schema of a result."),
    Verb("redact", "look after", "secrets", "Write any text with its secrets replaced by markers."),
    Verb("reveal", "look after", "secrets", "Show original text, secrets included, and log that.", recalls=True),
    Verb("forget", "look after", "erasure", "Take sessions or records out of the memory, for good.", recalls=True),
    Verb("keys", "look after", "secrets", "Show, change or move the key that seals the archive."),
    Verb("parse", "pipes", "pipes", "Turn a transcript into events, or what they mean."),
    Verb("replay", "pipes", "pipes", "Play a transcript back as it grew."),
    Verb("watch", "pipes", "pipes", "Follow the memory, or transcripts, as they grow.", recalls=True),
)


def function_name(verb: str) -> str:
    """Return the function of a verb in its module: its name, with an underscore where that is a word of Python."""
    return f"{verb}_" if keyword.iskeyword(verb) else verb


GROUPS: tuple[str, ...] = tuple(dict.fromkeys(verb.group for verb in VERBS))
RECALLING: frozenset[str] = frozenset(verb.name for verb in VERBS if verb.recalls)
"""The verbs whose output is not remembered."""
