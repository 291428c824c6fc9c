"""`Memory`: the one entry point of every surface, composed of facets.

Names are imported when first used: a search loads neither the parsers nor the detectors nor maintenance.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.archive.keys import KeyChange, KeyPlace, KeyStatus
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
    from recollect.index.query.grammar import Clause, Question, parse
    from recollect.index.vectors.embed import EmbedReport
    from recollect.ingest.background_embedding import EmbeddingFacet
    from recollect.ingest.daemon_status import Card, LearningNow, LiveStatus, Place
    from recollect.ingest.distill import DistillingFacet, DistillReport
    from recollect.ingest.imports import ImportOptions
    from recollect.ingest.keeper.keeper import Keeper
    from recollect.ingest.learnings.extract import LearnReport
    from recollect.ingest.learnings.run import LearnFacet
    from recollect.ingest.learnings.status import AskPreview, HeldBack, LearnStatus, NewLearning, SeenEvidence, Why
    from recollect.ingest.operations import REFRESH_EVERY_S
    from recollect.ingest.parse import Recognised, parse_file
    from recollect.ingest.report import (
        AgentSync,
        CollectionReport,
        DocumentProgress,
        ImportedSession,
        NotTaken,
        ProgressCallback,
        Skipped,
        SyncProgress,
        SyncReport,
    )
    from recollect.ingest.spool import Spooled, SpoolFacet
    from recollect.insights.correlation import shell_lines
    from recollect.insights.notes.contradictions import Contradiction
    from recollect.insights.notes.diary import NewEntry
    from recollect.insights.notes.facts import FactAdded, NewFact
    from recollect.insights.retro.report import (
        FIXED_BY,
        INTERVENTIONS,
        RELATIONS,
        DayLine,
        ErrorLine,
        GroupLine,
        PreviousPeriod,
        Retro,
    )
    from recollect.maintenance.backup.manifest import BackupReport, RestoreReport
    from recollect.maintenance.export import RevealedEvent
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
    from recollect.maintenance.service.job import FileStep, ManagerName, ServiceEvery, ServiceKind, ServiceReport
    from recollect.maintenance.setup.agent_settings import Mode
    from recollect.maintenance.setup.planner import Step
    from recollect.maintenance.setup.setup import AgentReport, SetupReport
    from recollect.memory.blame import (
        BlameAnswer,
        BlameQuestion,
        EditedFile,
        FileBlame,
        FilesAnswer,
        FilesFacet,
        repository_of,
    )
    from recollect.memory.browse import (
        SHOWN_CHARS,
        WHOLE_CHARS,
        BrowseFacet,
        FoundWithin,
        Outline,
        OutlineMark,
        Picture,
        RecordView,
        pictures_of,
    )
    from recollect.memory.diary import DiaryAnswer, UndoReport
    from recollect.memory.documents import (
        CollectionFiles,
        CollectionRemoved,
        CollectionView,
        DocumentsFacet,
        DocumentView,
    )
    from recollect.memory.facts import FactsAnswer, SeedReport
    from recollect.memory.handoff import BRIEF_TOKENS, Handoff, HandoffFacet, ResumeCommand, command_line
    from recollect.memory.insights import DecisionsFacet, NewDecision
    from recollect.memory.live import LiveFacet
    from recollect.memory.maintenance import ExcludedView, MaintenanceFacet, SettingsView
    from recollect.memory.memory import Memory
    from recollect.memory.notes import NotesFacet, SavedSearchesFacet, Tagged
    from recollect.memory.palace import PalaceReport
    from recollect.memory.recall import AgentsFacet, AgentView, RecallFacet, UsageFacet
    from recollect.memory.setup import PreparedSetup, PreparedWriting, SetupFacet
    from recollect.memory.shared_folder import SharedFolderFacet
    from recollect.memory.team import TeamFacet, TeamStatus
    from recollect.memory.transcripts import (
        Explanation,
        FileVerifyReport,
        Meaning,
        Reading,
        as_file,
        as_growing_file,
        events_of,
        explained,
        mean,
        read_path,
        stages_of,
        verify_path,
    )
    from recollect.memory.watch import (
        EVERY_S,
        Changes,
        Followed,
        Following,
        Pace,
        Wanted,
        Watcher,
        groups_of,
        items_of,
        play,
    )
    from recollect.model.records import LedgerDefect
    from recollect.model.usage import ActivityReport, UsageReport, UsageRow, UsageTotals, UsageTrend
    from recollect.privacy.redact import redact_stream, without_secrets
    from recollect.recall.answers import (
        Conversation,
        EntryPartView,
        EntryView,
        Hit,
        SearchAnswer,
        SessionPage,
        SessionView,
        Stats,
        StorageStats,
        TeamAnswer,
        TeamHit,
        Timeline,
        VectorStats,
        conversations,
    )
    from recollect.recall.context.builder import ContextBlock
    from recollect.recall.context.context_use import RecallStats, ShownBlock
    from recollect.recall.context.facet import BUDGET_TOKENS, ContextFacet
    from recollect.recall.context.lines import ContextEvent
    from recollect.recall.context.person_files import Begun
    from recollect.recall.coverage import Coverage
    from recollect.recall.decisions import (
        DecisionQuestion,
        DecisionsAnswer,
        DecisionView,
        MatchingDecision,
        by_words,
        matching,
        words_and_ids,
    )
    from recollect.recall.highlight import matched_words
    from recollect.recall.overview import Cited, Overview
    from recollect.recall.quotes import CONTINUED, clean, quoted
    from recollect.recall.related_events import RELATED_LABELS, LearningView, RelatedEvent
    from recollect.recall.snippets import snippet
    from recollect.recall.team_answers import (
        TeamDecisionsAnswer,
        TeamDecisionsQuestion,
        TeamDecisionView,
        TeamSession,
        TeamSessionPage,
        TeamSessionView,
    )
    from recollect.sharing.membership import Membership
    from recollect.sharing.push import ArchivePart, FoundArchives, PartBatches, PushReport, redacted_batches
    from recollect.sharing.sync_folder import FolderReport
    from recollect.store.audit import AuditEntry
    from recollect.store.insights import KeptDecision, KeptLink, KeptNode, KeptSignals
    from recollect.store.learnings import LearningFilter
    from recollect.store.notes import DiaryQuestion, FactQuestion
    from recollect.store.rows import AgentStats, DriftRow, EventFilter, LedgerRow, TimelineEntry, UsageBy
    from recollect.store.sessions import ListedSession, Relative, SessionOrder, SessionQuestion
    from recollect.store.sinks import Given, Item, LinesSink, Offsets, Retracted, Sink, SqliteSink


# Which module each name is imported from above, so that there is one list of them.
_IMPORTS = re.compile(r"^    from (recollect\.\S+) import (\([^)]*\)|.*)$", re.MULTILINE)
_MODULES = {
    name: module
    for module, names in _IMPORTS.findall(Path(__file__).read_text("utf-8"))
    for name in re.findall(r"\w+", names)
}


if not TYPE_CHECKING:  # a name that is not in the list is an error to the type checker too

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module 'recollect.memory' has no attribute {name!r}")
        value = getattr(importlib.import_module(_MODULES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(_MODULES)
