"""`class Memory`, the one door: everything a surface needs comes through here, typed."""

from __future__ import annotations

from recollect.memory.agents import AgentsFacet, AgentView
from recollect.memory.door import Memory
from recollect.memory.upkeep import UpkeepFacet
from recollect.memory.usage import UsageFacet
from recollect.model.usage import UsageReport, UsageRow, UsageTotals
from recollect.pipeline.parse import parse_file
from recollect.pipeline.report import AgentSync, ProgressCallback, Skipped, SyncProgress, SyncReport
from recollect.recall.answers import (
    AgentStats,
    Hit,
    SearchAnswer,
    SessionPage,
    Stats,
    StorageStats,
    Timeline,
    TimelineEntry,
)
from recollect.store.ports import EventFilter, UsageBy
from recollect.upkeep.reports import (
    Check,
    DoctorReport,
    Exported,
    ExportFormat,
    LedgerDefect,
    SourceLedger,
    VerifyReport,
)

__all__ = [
    "AgentStats",
    "AgentSync",
    "AgentView",
    "AgentsFacet",
    "Check",
    "DoctorReport",
    "EventFilter",
    "ExportFormat",
    "Exported",
    "Hit",
    "LedgerDefect",
    "Memory",
    "ProgressCallback",
    "SearchAnswer",
    "SessionPage",
    "Skipped",
    "SourceLedger",
    "Stats",
    "StorageStats",
    "SyncProgress",
    "SyncReport",
    "Timeline",
    "TimelineEntry",
    "UpkeepFacet",
    "UsageBy",
    "UsageFacet",
    "UsageReport",
    "UsageRow",
    "UsageTotals",
    "VerifyReport",
    "parse_file",
]
