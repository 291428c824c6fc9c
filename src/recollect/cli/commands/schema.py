"""`recollect schema`."""

from __future__ import annotations

from typing import Any

import click

from recollect.cli.options import json_option
from recollect.cli.terminal import write_json, write_list
from recollect.errors import UnknownName


@click.command()
@click.argument("name", default="")
@json_option
def command(name: str, as_json: bool) -> int:
    """Print the JSON Schema of a result.

    Without NAME, list the names. The output is always JSON or one name per line; --json makes the list JSON.

    \b
    Example:
      recollect schema event
    """
    types = result_types()
    if name:
        if name not in types:
            raise UnknownName("schema", name, nearest=_nearest(name, types), hint="`recollect schema` lists them")
        write_json(schema_of(types[name]))
    elif as_json:
        write_list("schemas", sorted(types))
    else:
        click.echo("\n".join(sorted(types)))
    return 0


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of what is written of a type: an object has every field that it may have."""
    import msgspec

    schema = msgspec.json.schema(kind)
    for made in (schema, *schema.get("$defs", {}).values()):
        if "properties" in made:
            made["required"] = list(made["properties"])
    return schema


def _list_of(name: str, kind: Any) -> Any:
    """Return the type of what `write_list` prints."""
    import msgspec

    return msgspec.defstruct("List", [(name, tuple[kind, ...])])


def result_types() -> dict[str, Any]:
    """Return the type of what `--json` prints, by verb, and of what it is made of."""
    from recollect.cli.render.closing import UpReport
    from recollect.cli.views import ConfigView, ErrorView, SessionView
    from recollect.memory import (
        AgentView,
        BlameAnswer,
        ContextBlock,
        DecisionsAnswer,
        EntryView,
        RecallStats,
        Retro,
        SearchAnswer,
        SessionPage,
        Stats,
        SyncReport,
        Timeline,
    )
    from recollect.model.events import Event
    from recollect.model.insights.digests import Digest, PublishedDigest
    from recollect.model.insights.nodes import Node
    from recollect.model.insights.signals import Signal
    from recollect.model.sessions import Session
    from recollect.model.usage import UsageReport
    from recollect.serve.daemon_control import DaemonAnswer

    return {
        "agents": _list_of("agents", AgentView),
        "blame": BlameAnswer,
        "config": ConfigView,
        "context": ContextBlock,
        "decisions": DecisionsAnswer,
        "digest": PublishedDigest,
        "digest-piped": Digest,
        "error": ErrorView,
        "event": Event,
        "node": Node,
        "rebuild": SyncReport,
        "retro": Retro,
        "search": SearchAnswer,
        "session": Session,
        "sessions": SessionPage,
        "show": SessionView,
        "show-entry": EntryView,
        "signal": Signal,
        "stats": Stats,
        "stats-recall": RecallStats,
        "stats-sessions": Retro,
        "sync": SyncReport,
        "timeline": Timeline,
        "up": UpReport,
        "up-status": DaemonAnswer,
        "usage": UsageReport,
        **_of_pipes(),
        **_of_upkeep(),
        **_of_learnings(),
        **_of_notes(),
        **_of_documents(),
    }


def _of_pipes() -> dict[str, Any]:
    """Return the types of what the verbs on files and pipes give besides events, nodes, signals and digests."""
    from recollect.memory import Explanation, FileVerifyReport, Retracted

    return {"explanation": Explanation, "retracted": Retracted, "verify-file": FileVerifyReport}


def _of_upkeep() -> dict[str, Any]:
    """Return the types of the verbs that keep the memory and look after it."""
    from recollect.memory import (
        AuditEntry,
        BackupReport,
        DoctorReport,
        EmbedReport,
        EvictReport,
        Exported,
        ForgetReport,
        ForgottenList,
        KeyChange,
        KeyStatus,
        Pin,
        RepairReport,
        RestoreReport,
        RevealedEvent,
        ServiceReport,
        StorageReport,
        VerifyReport,
    )

    return {
        "backup": BackupReport,
        "doctor": DoctorReport,
        "embed": EmbedReport,
        "evict": EvictReport,
        "export": _list_of("files", Exported),
        "forget": ForgetReport,
        "forget-list": ForgottenList,
        "keys-change": KeyChange,
        "keys-status": KeyStatus,
        "pin": _list_of("pins", Pin),
        "repair": RepairReport,
        "restore": RestoreReport,
        "reveal": _list_of("events", RevealedEvent),
        "reveal-log": _list_of("entries", AuditEntry),
        "service": ServiceReport,
        "stats-storage": StorageReport,
        "verify": VerifyReport,
    }


def _of_learnings() -> dict[str, Any]:
    """Return the types of the verbs about what was learned, and of what agents were given of it."""
    from recollect.memory import AskPreview, Begun, HeldBack, LearnReport, LearnStatus, ShownBlock, Why
    from recollect.model.learnings.learnings import Learning

    return {
        "actions": _list_of("actions", Learning),
        "context-init": Begun,
        "context-shown": _list_of("blocks", ShownBlock),
        "learning": Learning,
        "learnings": _list_of("learnings", Learning),
        "learnings-ask": AskPreview,
        "learnings-held-back": _list_of("texts", HeldBack),
        "learnings-run": LearnReport,
        "learnings-status": LearnStatus,
        "learnings-why": Why,
    }


def _of_notes() -> dict[str, Any]:
    """Return the types of the verbs about what people and agents write down."""
    from recollect.memory import (
        Contradiction,
        DiaryAnswer,
        FactAdded,
        FactsAnswer,
        PalaceReport,
        SeedReport,
        Tagged,
        UndoReport,
    )
    from recollect.model.learnings.notes import Batch, DiaryEntry, Fact

    return {
        "diary": DiaryAnswer,
        "diary-entry": DiaryEntry,
        "fact": Fact,
        "facts": FactsAnswer,
        "facts-added": FactAdded,
        "facts-contradictions": _list_of("contradictions", Contradiction),
        "facts-seed": SeedReport,
        "import-mempalace": PalaceReport,
        "tag": _list_of("tags", Tagged),
        "undo": UndoReport,
        "undo-list": _list_of("batches", Batch),
    }


def _of_documents() -> dict[str, Any]:
    """Return the types of the verb about project documents."""
    from recollect.memory import CollectionFiles, CollectionRemoved, CollectionReport, CollectionView

    return {
        "docs": _list_of("collections", CollectionView),
        "docs-add": CollectionReport,
        "docs-refresh": _list_of("reports", CollectionReport),
        "docs-remove": CollectionRemoved,
        "docs-show": CollectionFiles,
    }


def _nearest(name: str, types: dict[str, Any]) -> tuple[str, ...]:
    import difflib

    return tuple(difflib.get_close_matches(name, types, n=1))
