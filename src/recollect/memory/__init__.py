"""`class Memory`, the one door: everything a surface needs comes through here, typed.

Names are imported when first used: a search loads neither the parsers nor the detectors nor upkeep.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.capture.otlp import Signal
    from recollect.memory.agents import AgentsFacet, AgentView
    from recollect.memory.context import ContextFacet
    from recollect.memory.door import Memory
    from recollect.memory.embedding import EmbeddingFacet
    from recollect.memory.recalling import RecallFacet
    from recollect.memory.setup import PreparedSetup, SetupFacet
    from recollect.memory.spool import Spooled, SpoolFacet
    from recollect.memory.upkeep import UpkeepFacet
    from recollect.memory.usage import UsageFacet
    from recollect.model.usage import UsageReport, UsageRow, UsageTotals
    from recollect.pipeline.embed import EmbedReport
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
        VectorStats,
    )
    from recollect.recall.context.building import ContextBlock
    from recollect.recall.context.sources import ContextEvent
    from recollect.recall.context.usage import RecallStats
    from recollect.recall.conversations import Conversation, conversations
    from recollect.recall.coverage import Coverage
    from recollect.recall.overview import Cited, Overview
    from recollect.recall.quoting import CONTINUED, clean, quoted
    from recollect.store.ports import DriftRow, EventFilter, UsageBy
    from recollect.upkeep.reports import (
        Check,
        DoctorReport,
        Exported,
        ExportFormat,
        LedgerDefect,
        SourceLedger,
        VerifyReport,
    )
    from recollect.upkeep.setup.manifest import Mode
    from recollect.upkeep.setup.plans import Step
    from recollect.upkeep.setup.work import AgentReport, SetupReport

_NAMES = {
    "recollect.capture.otlp": "Signal",
    "recollect.memory.agents": "AgentView AgentsFacet",
    "recollect.memory.context": "ContextFacet",
    "recollect.memory.door": "Memory",
    "recollect.memory.embedding": "EmbeddingFacet",
    "recollect.memory.recalling": "RecallFacet",
    "recollect.memory.setup": "PreparedSetup SetupFacet",
    "recollect.memory.spool": "SpoolFacet Spooled",
    "recollect.memory.upkeep": "UpkeepFacet",
    "recollect.memory.usage": "UsageFacet",
    "recollect.model.usage": "UsageReport UsageRow UsageTotals",
    "recollect.pipeline.embed": "EmbedReport",
    "recollect.pipeline.parse": "parse_file",
    "recollect.pipeline.report": "AgentSync ProgressCallback Skipped SyncProgress SyncReport",
    "recollect.recall.answers": (
        "AgentStats Hit SearchAnswer SessionPage Stats StorageStats Timeline TimelineEntry VectorStats"
    ),
    "recollect.recall.conversations": "Conversation conversations",
    "recollect.recall.coverage": "Coverage",
    "recollect.recall.overview": "Cited Overview",
    "recollect.recall.quoting": "CONTINUED clean quoted",
    "recollect.recall.context.building": "ContextBlock",
    "recollect.recall.context.sources": "ContextEvent",
    "recollect.recall.context.usage": "RecallStats",
    "recollect.store.ports": "DriftRow EventFilter UsageBy",
    "recollect.upkeep.reports": "Check DoctorReport ExportFormat Exported LedgerDefect SourceLedger VerifyReport",
    "recollect.upkeep.setup.manifest": "Mode",
    "recollect.upkeep.setup.plans": "Step",
    "recollect.upkeep.setup.work": "AgentReport SetupReport",
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "CONTINUED",
    "AgentReport",
    "AgentStats",
    "AgentSync",
    "AgentView",
    "AgentsFacet",
    "Check",
    "Cited",
    "ContextBlock",
    "ContextEvent",
    "ContextFacet",
    "Conversation",
    "Coverage",
    "DoctorReport",
    "DriftRow",
    "EmbedReport",
    "EmbeddingFacet",
    "EventFilter",
    "ExportFormat",
    "Exported",
    "Hit",
    "LedgerDefect",
    "Memory",
    "Mode",
    "Overview",
    "PreparedSetup",
    "ProgressCallback",
    "RecallFacet",
    "RecallStats",
    "SearchAnswer",
    "SessionPage",
    "SetupFacet",
    "SetupReport",
    "Signal",
    "Skipped",
    "SourceLedger",
    "SpoolFacet",
    "Spooled",
    "Stats",
    "Step",
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
    "VectorStats",
    "VerifyReport",
    "clean",
    "conversations",
    "parse_file",
    "quoted",
]


def __getattr__(name: str) -> Any:
    module = _PLACES.get(name)
    if module is None:
        raise AttributeError(f"module 'recollect.memory' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value
