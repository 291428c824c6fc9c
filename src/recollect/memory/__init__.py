"""`class Memory`, the one door: everything a surface needs comes through here, typed.

Names are imported when first used: a search loads neither the parsers nor the detectors nor upkeep.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.capture.otlp import Signal
    from recollect.memory.agents import AgentsFacet, AgentView
    from recollect.memory.door import Memory
    from recollect.memory.spool import Spooled, SpoolFacet
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

_NAMES = {
    "recollect.capture.otlp": "Signal",
    "recollect.memory.agents": "AgentView AgentsFacet",
    "recollect.memory.door": "Memory",
    "recollect.memory.spool": "SpoolFacet Spooled",
    "recollect.memory.upkeep": "UpkeepFacet",
    "recollect.memory.usage": "UsageFacet",
    "recollect.model.usage": "UsageReport UsageRow UsageTotals",
    "recollect.pipeline.parse": "parse_file",
    "recollect.pipeline.report": "AgentSync ProgressCallback Skipped SyncProgress SyncReport",
    "recollect.recall.answers": ("AgentStats Hit SearchAnswer SessionPage Stats StorageStats Timeline TimelineEntry"),
    "recollect.store.ports": "DriftRow EventFilter UsageBy",
    "recollect.upkeep.reports": "Check DoctorReport ExportFormat Exported LedgerDefect SourceLedger VerifyReport",
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "AgentStats",
    "AgentSync",
    "AgentView",
    "AgentsFacet",
    "Check",
    "DoctorReport",
    "DriftRow",
    "EventFilter",
    "ExportFormat",
    "Exported",
    "Hit",
    "LedgerDefect",
    "Memory",
    "ProgressCallback",
    "SearchAnswer",
    "SessionPage",
    "Signal",
    "Skipped",
    "SourceLedger",
    "SpoolFacet",
    "Spooled",
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


def __getattr__(name: str) -> Any:
    module = _PLACES.get(name)
    if module is None:
        raise AttributeError(f"module 'recollect.memory' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value
