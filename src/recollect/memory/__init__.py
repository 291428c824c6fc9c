"""`Memory`, the one entry point for every surface, composed of facets.

Names are imported when first used: a search loads neither the parsers nor the detectors nor upkeep.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.archive.envelope import KeyPlace
    from recollect.archive.rewrap import KeyChange, KeyStatus
    from recollect.capture.otlp import Signal
    from recollect.erasure.reports import (
        EvictReport,
        ForgetReport,
        ForgetSelection,
        ForgottenList,
        NoteToForget,
        Pin,
        SessionToForget,
        StorageLine,
        StorageReport,
    )
    from recollect.index.vectors.embed import EmbedReport
    from recollect.ingest.documents.report import CollectionReport, DocumentProgress, NotTaken
    from recollect.ingest.imports.options import ImportWish
    from recollect.ingest.insights.distill import DistillReport
    from recollect.ingest.keeper.instance import Card, Place
    from recollect.ingest.keeper.keeper import Keeper
    from recollect.ingest.keeper.status import LearningNow, LiveStatus
    from recollect.ingest.learnings.extract import LearnReport
    from recollect.ingest.learnings.preview import AskPreview
    from recollect.ingest.learnings.views import HeldBack, LearnStatus, NewLearning, SeenEvidence, Why
    from recollect.ingest.parse import Recognised, parse_file
    from recollect.ingest.report import (
        AgentSync,
        ImportedSession,
        ProgressCallback,
        Skipped,
        SyncProgress,
        SyncReport,
    )
    from recollect.insights.correlation import shell_lines
    from recollect.insights.notes.contradictions import Contradiction
    from recollect.insights.notes.diary import NewEntry
    from recollect.insights.notes.facts import FactAdded, NewFact
    from recollect.insights.retro.report import DayLine, ErrorLine, GroupLine, PreviousPeriod, Retro
    from recollect.maintenance.backup.manifest import BackupReport, RestoreReport
    from recollect.maintenance.repair import RepairReport
    from recollect.maintenance.reports import (
        Check,
        DeepPart,
        DoctorReport,
        Exported,
        ExportFormat,
        Fix,
        SourceLedger,
        VerifyReport,
    )
    from recollect.maintenance.reveal import RevealedEvent
    from recollect.maintenance.service.job import FileStep, ManagerName, ServiceEvery, ServiceKind, ServiceReport
    from recollect.maintenance.setup.manifest import Mode
    from recollect.maintenance.setup.planner import Step
    from recollect.maintenance.setup.setup import AgentReport, SetupReport
    from recollect.memory.agents import AgentsFacet, AgentView
    from recollect.memory.context import ContextFacet
    from recollect.memory.documents import (
        CollectionFiles,
        CollectionRemoved,
        CollectionView,
        DocumentsFacet,
        DocumentView,
    )
    from recollect.memory.embedding import EmbeddingFacet
    from recollect.memory.ingest import REFRESH_EVERY_S
    from recollect.memory.insights.blame import BlameAnswer, BlameQuestion, repository_of
    from recollect.memory.insights.decisions import DecisionsFacet, NewDecision
    from recollect.memory.insights.distilling import DistillingFacet
    from recollect.memory.learnings.facet import LearnFacet
    from recollect.memory.live import LiveFacet
    from recollect.memory.maintenance.facet import UpkeepFacet
    from recollect.memory.memory import Memory
    from recollect.memory.notes.batches import UndoReport
    from recollect.memory.notes.diary import DiaryAnswer, DiaryQuestion
    from recollect.memory.notes.facet import NotesFacet, Tagged
    from recollect.memory.notes.facts import FactQuestion, FactsAnswer
    from recollect.memory.notes.palace import PalaceReport
    from recollect.memory.notes.seeds import SeedReport
    from recollect.memory.pipes.explanation import Explanation, explained
    from recollect.memory.pipes.follow import Following
    from recollect.memory.pipes.reader import (
        Meaning,
        Reading,
        as_file,
        as_growing_file,
        events_of,
        mean,
        read_path,
        stages_of,
    )
    from recollect.memory.pipes.redaction import redact_stream
    from recollect.memory.pipes.replay import Changes, groups_of, items_of, play
    from recollect.memory.pipes.verification import FileVerifyReport, verify_path
    from recollect.memory.pipes.watch import EVERY_S, Followed, Pace, Wanted, Watcher
    from recollect.memory.recall import RecallFacet
    from recollect.memory.setup import PreparedSetup, PreparedWriting, SetupFacet
    from recollect.memory.spool import Spooled, SpoolFacet
    from recollect.memory.usage import UsageFacet
    from recollect.model.records import LedgerDefect
    from recollect.model.usage import UsageReport, UsageRow, UsageTotals
    from recollect.recall.answers import (
        RELATED_LABELS,
        Conversation,
        EntryPartView,
        EntryView,
        Hit,
        SearchAnswer,
        SessionPage,
        Stats,
        StorageStats,
        Timeline,
        VectorStats,
        conversations,
    )
    from recollect.recall.context.builder import ContextBlock
    from recollect.recall.context.person_files import Begun
    from recollect.recall.context.sources import ContextEvent
    from recollect.recall.context.usage import RecallStats, ShownBlock
    from recollect.recall.coverage import Coverage
    from recollect.recall.decisions import DecisionQuestion, DecisionsAnswer, DecisionView
    from recollect.recall.overview import Cited, Overview
    from recollect.recall.quotes import CONTINUED, clean, quoted
    from recollect.store.audit import AuditEntry
    from recollect.store.insights import KeptNode, KeptSignals
    from recollect.store.learnings import LearningFilter
    from recollect.store.rows import AgentStats, DriftRow, EventFilter, TimelineEntry, UsageBy
    from recollect.store.sinks import Given, Item, LinesSink, Offsets, Retracted, Sink, SqliteSink

_NAMES = {
    "recollect.archive.rewrap": "KeyChange KeyStatus",
    "recollect.archive.envelope": "KeyPlace",
    "recollect.capture.otlp": "Signal",
    "recollect.insights.correlation": "shell_lines",
    "recollect.insights.retro.report": "DayLine ErrorLine GroupLine PreviousPeriod Retro",
    "recollect.memory.agents": "AgentView AgentsFacet",
    "recollect.memory.context": "ContextFacet",
    "recollect.memory.insights.decisions": "DecisionsFacet NewDecision",
    "recollect.memory.insights.distilling": "DistillingFacet",
    "recollect.memory.insights.blame": "BlameAnswer BlameQuestion repository_of",
    "recollect.memory.memory": "Memory",
    "recollect.memory.embedding": "EmbeddingFacet",
    "recollect.memory.pipes.explanation": "Explanation explained",
    "recollect.memory.pipes.follow": "Following",
    "recollect.memory.pipes.replay": "Changes groups_of items_of play",
    "recollect.memory.pipes.reader": "Meaning Reading as_file as_growing_file events_of mean read_path stages_of",
    "recollect.memory.pipes.redaction": "redact_stream",
    "recollect.memory.pipes.verification": "FileVerifyReport verify_path",
    "recollect.memory.pipes.watch": "EVERY_S Followed Pace Wanted Watcher",
    "recollect.memory.notes.diary": "DiaryAnswer DiaryQuestion",
    "recollect.memory.documents": ("CollectionFiles CollectionRemoved CollectionView DocumentView DocumentsFacet"),
    "recollect.ingest.documents.report": "CollectionReport DocumentProgress NotTaken",
    "recollect.memory.notes.facts": "FactQuestion FactsAnswer",
    "recollect.memory.notes.palace": "PalaceReport",
    "recollect.memory.learnings.facet": "LearnFacet",
    "recollect.ingest.learnings.preview": "AskPreview",
    "recollect.ingest.learnings.views": "HeldBack LearnStatus NewLearning SeenEvidence Why",
    "recollect.memory.notes.facet": "NotesFacet Tagged",
    "recollect.memory.notes.seeds": "SeedReport",
    "recollect.memory.notes.batches": "UndoReport",
    "recollect.memory.live": "LiveFacet",
    "recollect.ingest.keeper.keeper": "Keeper",
    "recollect.ingest.keeper.instance": "Card Place",
    "recollect.ingest.keeper.status": "LearningNow LiveStatus",
    "recollect.memory.recall": "RecallFacet",
    "recollect.memory.setup": "PreparedSetup PreparedWriting SetupFacet",
    "recollect.memory.spool": "SpoolFacet Spooled",
    "recollect.memory.ingest": "REFRESH_EVERY_S",
    "recollect.memory.maintenance.facet": "UpkeepFacet",
    "recollect.memory.usage": "UsageFacet",
    "recollect.model.records": "LedgerDefect",
    "recollect.model.usage": "UsageReport UsageRow UsageTotals",
    "recollect.insights.notes.contradictions": "Contradiction",
    "recollect.insights.notes.diary": "NewEntry",
    "recollect.insights.notes.facts": "FactAdded NewFact",
    "recollect.ingest.insights.distill": "DistillReport",
    "recollect.index.vectors.embed": "EmbedReport",
    "recollect.ingest.learnings.extract": "LearnReport",
    "recollect.ingest.parse": "Recognised parse_file",
    "recollect.ingest.imports.options": "ImportWish",
    "recollect.ingest.report": "AgentSync ImportedSession ProgressCallback Skipped SyncProgress SyncReport",
    "recollect.recall.answers": (
        "AgentStats Conversation EntryPartView EntryView Hit RELATED_LABELS SearchAnswer "
        "SessionPage Stats StorageStats Timeline TimelineEntry VectorStats conversations"
    ),
    "recollect.recall.coverage": "Coverage",
    "recollect.recall.decisions": "DecisionQuestion DecisionView DecisionsAnswer",
    "recollect.recall.overview": "Cited Overview",
    "recollect.recall.quotes": "CONTINUED clean quoted",
    "recollect.recall.context.builder": "ContextBlock",
    "recollect.recall.context.person_files": "Begun",
    "recollect.recall.context.usage": "RecallStats ShownBlock",
    "recollect.recall.context.sources": "ContextEvent",
    "recollect.store.insights": "KeptNode KeptSignals",
    "recollect.store.learnings": "LearningFilter",
    "recollect.store.rows": "AgentStats DriftRow EventFilter TimelineEntry UsageBy",
    "recollect.store.sinks": "Given Item LinesSink Offsets Retracted Sink SqliteSink",
    "recollect.maintenance.repair": "RepairReport",
    "recollect.maintenance.backup.manifest": "BackupReport RestoreReport",
    "recollect.erasure.reports": (
        "EvictReport ForgetReport ForgetSelection ForgottenList "
        "NoteToForget Pin SessionToForget StorageLine StorageReport"
    ),
    "recollect.maintenance.reports": (
        "Check DeepPart DoctorReport Fix ExportFormat Exported SourceLedger VerifyReport"
    ),
    "recollect.store.audit": "AuditEntry",
    "recollect.maintenance.reveal": "RevealedEvent",
    "recollect.maintenance.service.job": "FileStep ManagerName ServiceEvery ServiceKind ServiceReport",
    "recollect.maintenance.setup.manifest": "Mode",
    "recollect.maintenance.setup.planner": "Step",
    "recollect.maintenance.setup.setup": "AgentReport SetupReport",
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "CONTINUED",
    "EVERY_S",
    "REFRESH_EVERY_S",
    "RELATED_LABELS",
    "AgentReport",
    "AgentStats",
    "AgentSync",
    "AgentView",
    "AgentsFacet",
    "AskPreview",
    "AuditEntry",
    "BackupReport",
    "Begun",
    "BlameAnswer",
    "BlameQuestion",
    "Card",
    "Changes",
    "Check",
    "Cited",
    "CollectionFiles",
    "CollectionRemoved",
    "CollectionReport",
    "CollectionView",
    "ContextBlock",
    "ContextEvent",
    "ContextFacet",
    "Contradiction",
    "Conversation",
    "Coverage",
    "DayLine",
    "DecisionQuestion",
    "DecisionView",
    "DecisionsAnswer",
    "DecisionsFacet",
    "DeepPart",
    "DiaryAnswer",
    "DiaryQuestion",
    "DistillReport",
    "DistillingFacet",
    "DoctorReport",
    "DocumentProgress",
    "DocumentView",
    "DocumentsFacet",
    "DriftRow",
    "EmbedReport",
    "EmbeddingFacet",
    "EntryPartView",
    "EntryView",
    "ErrorLine",
    "EventFilter",
    "EvictReport",
    "Explanation",
    "ExportFormat",
    "Exported",
    "FactAdded",
    "FactQuestion",
    "FactsAnswer",
    "FileStep",
    "FileVerifyReport",
    "Fix",
    "Followed",
    "Following",
    "ForgetReport",
    "ForgetSelection",
    "ForgottenList",
    "Given",
    "GroupLine",
    "HeldBack",
    "Hit",
    "ImportWish",
    "ImportedSession",
    "Item",
    "Keeper",
    "KeptNode",
    "KeptSignals",
    "KeyChange",
    "KeyPlace",
    "KeyStatus",
    "LearnFacet",
    "LearnReport",
    "LearnStatus",
    "LearningFilter",
    "LearningNow",
    "LedgerDefect",
    "LinesSink",
    "LiveFacet",
    "LiveStatus",
    "ManagerName",
    "Meaning",
    "Memory",
    "Mode",
    "NewDecision",
    "NewEntry",
    "NewFact",
    "NewLearning",
    "NotTaken",
    "NoteToForget",
    "NotesFacet",
    "Offsets",
    "Overview",
    "Pace",
    "PalaceReport",
    "Pin",
    "Place",
    "PreparedSetup",
    "PreparedWriting",
    "PreviousPeriod",
    "ProgressCallback",
    "Reading",
    "RecallFacet",
    "RecallStats",
    "Recognised",
    "RepairReport",
    "RestoreReport",
    "Retracted",
    "Retro",
    "RevealedEvent",
    "SearchAnswer",
    "SeedReport",
    "SeenEvidence",
    "ServiceEvery",
    "ServiceKind",
    "ServiceReport",
    "SessionPage",
    "SessionToForget",
    "SetupFacet",
    "SetupReport",
    "ShownBlock",
    "Signal",
    "Sink",
    "Skipped",
    "SourceLedger",
    "SpoolFacet",
    "Spooled",
    "SqliteSink",
    "Stats",
    "Step",
    "StorageLine",
    "StorageReport",
    "StorageStats",
    "SyncProgress",
    "SyncReport",
    "Tagged",
    "Timeline",
    "TimelineEntry",
    "UndoReport",
    "UpkeepFacet",
    "UsageBy",
    "UsageFacet",
    "UsageReport",
    "UsageRow",
    "UsageTotals",
    "VectorStats",
    "VerifyReport",
    "Wanted",
    "Watcher",
    "Why",
    "as_file",
    "as_growing_file",
    "clean",
    "conversations",
    "events_of",
    "explained",
    "groups_of",
    "items_of",
    "mean",
    "parse_file",
    "play",
    "quoted",
    "read_path",
    "redact_stream",
    "repository_of",
    "shell_lines",
    "stages_of",
    "verify_path",
]


def __getattr__(name: str) -> Any:
    module = _PLACES.get(name)
    if module is None:
        raise AttributeError(f"module 'recollect.memory' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value
