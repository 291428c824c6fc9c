"""Reads each due session once, for analysis and learning.

A run does that in its own process, and its helpers do it in theirs.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from recollect.config import Config
from recollect.errors import ArchiveError, ConfigError, StoreCorrupt, StoreError, where_raised
from recollect.ingest.learnings.extract import Extraction, Extractor, extraction_of
from recollect.ingest.run_limits import nothing_collected
from recollect.model.events import SourceLocation
from recollect.model.insights.nodes import Node, locations_of
from recollect.model.insights.signals import Signal
from recollect.store.insight_feed import AnalysisInput, SessionFeed
from recollect.store.insights import AnalysisDraft, Base

if TYPE_CHECKING:
    from recollect.insights.stages import Stages


SCHEME = 20
"""Raised whenever the same events would give another digest, other signals, other nodes or other links."""


class SessionTask(NamedTuple):
    """A session that is to be read, and what for."""

    uid: str
    is_analysed: bool = True
    is_learned_from: bool = False


class Analysed(NamedTuple):
    """What came of one session: a draft, or neither where the session is gone; and a note on what could not be read.

    extraction: None where it was not wanted, or could not be made.
    """

    uid: str
    draft: AnalysisDraft | None = None
    note: str = ""
    extraction: Extraction | None = None


class Analyst:
    """Analyses sessions of one home. One thread's."""

    def __init__(self, feed: SessionFeed, config: Config, stages: Stages | None = None) -> None:
        """stages: in place of those that ship, with the configuration's rules, which are made when they are needed."""
        self._feed = feed
        self._config = config
        self._scheme = scheme_of(config)
        self._stages = stages
        self._extractor: Extractor | None = None

    def prepare(self) -> Stages:
        """Return the stages in use. Raises ConfigError for a rule that cannot be used."""
        if self._stages is None:
            from recollect.insights.preparation import default_stages

            self._stages = default_stages(self._config.gate.rules, is_ranked=self._config.distill.ranked)
        return self._stages

    def analyse(self, wanted: SessionTask) -> Analysed:
        """Return what a session comes to, or a note on why that is not known. Raises StoreError, ConfigError."""
        with nothing_collected():
            return self._analyse(wanted)

    def _analyse(self, wanted: SessionTask) -> Analysed:
        uid = wanted.uid
        try:
            source = self._feed.read(uid)
            if source is None:
                return Analysed(uid)
            analysed = Analysed(uid)
            if wanted.is_analysed:
                patterns = self._config.distill.task_patterns
                draft = draft_of(source, self.prepare(), scheme=self._scheme, task_patterns=patterns)
                analysed = Analysed(uid, draft, _left_out(source))
            return analysed._replace(extraction=self._extracted(source)) if wanted.is_learned_from else analysed
        except (StoreCorrupt, ArchiveError) as error:
            return Analysed(uid, note=f"{uid} could not be analysed: {error}")
        except (ConfigError, StoreError):
            raise
        except Exception as error:  # noqa: BLE001 - one session must not keep all others from being analysed; it is told
            return Analysed(uid, note=f"{uid} could not be analysed: a bug of Recollect, {where_raised(error)}")

    def _extracted(self, source: AnalysisInput) -> Extraction | None:
        """Return what rules learn from a session; None where they fail: who learns meets that too, and tells it."""
        if self._extractor is None:
            from recollect.ingest.learnings.rule_extractor import RuleExtractor

            self._extractor = RuleExtractor(is_ranked=self._config.distill.ranked)
        try:
            return extraction_of(source, self._extractor)
        except Exception:  # noqa: BLE001 - as for analysing; it costs nothing but time
            return None


def draft_of(source: AnalysisInput, stages: Stages, *, scheme: int, task_patterns: Sequence[str] = ()) -> AnalysisDraft:
    """Return the analysis of a session, with whole evidence. Raises StoreCorrupt, ArchiveError."""
    session = source.session
    from recollect.insights.preparation import analyse

    if not source.events:
        nothing = AnalysisDraft(session, scheme, None, [], [], {}, source.change_id, 0)
        return nothing if source.base is None else added_to(source.base, nothing)
    analysis = analyse(source.events, session=session, stages=stages, load=source.load, task_patterns=task_patterns)
    nodes, signals = _completed(analysis.nodes, analysis.signals, source.completed)
    recorded_at = {node.id: source.observed_at(set(locations_of(node))) for node in nodes}
    draft = AnalysisDraft(
        session, scheme, analysis.digest, signals, nodes, recorded_at, source.change_id, len(source.events)
    )
    return draft if source.base is None else added_to(source.base, draft)


def scheme_of(config: Config) -> int:
    """Return the scheme that a configuration gives: with rules and patterns of its own another one."""
    own = (config.gate.rules, config.distill.task_patterns, config.distill.ranked)
    return SCHEME if own == ((), (), True) else SCHEME << 32 | zlib.crc32(msgspec.json.encode(own))


def _left_out(source: AnalysisInput) -> str:
    if not source.left_out:
        return ""
    uid, read = source.session.session_uid, len(source.events)
    return (
        f"{uid} is very long: {read:,} events at its beginning and end were analysed, {source.left_out:,} between not"
    )


Complete = Callable[[Collection[SourceLocation]], Mapping[SourceLocation, SourceLocation]]
_Completed = TypeVar("_Completed")


def _completed(nodes: Sequence[Node], signals: Sequence[Signal], complete: Complete) -> tuple[list[Node], list[Signal]]:
    """Return nodes and signals whose locations have whole hashes."""
    named = {at for node in nodes for at in locations_of(node)}
    places = complete(named | {one.location for signal in signals for one in signal.evidence})
    return [_placed(node, places) for node in nodes], [_placed(signal, places) for signal in signals]


def _placed(item: _Completed, places: Mapping[SourceLocation, SourceLocation]) -> _Completed:
    """Return a node or signal, or what it rests on, at other locations."""
    found: dict[str, Any] = {}
    for name in ("evidence", "edits", "commands", "tests"):
        part = getattr(item, name, None)
        if part is not None:
            found[name] = (
                tuple(_placed(one, places) for one in part) if isinstance(part, tuple) else _placed(part, places)
            )
    if (at := getattr(item, "location", None)) is not None:
        found["location"] = places[at]
    return msgspec.structs.replace(item, **found)  # type: ignore[type-var]  # all of them are structs


def added_to(base: Base, draft: AnalysisDraft) -> AnalysisDraft:
    """Return the analysis of the whole session. draft: of the events since; with none of them, nothing changes."""
    digest = draft.digest or base.digest
    if draft.digest is not None and base.digest is not None:
        from recollect.insights.digests import added

        digest = added(base.digest, draft.digest)
    new = {node.id for node in draft.nodes}
    return draft._replace(
        digest=digest,
        signals=[*base.signals, *draft.signals],
        nodes=[*(node for node in base.nodes if node.id not in new), *draft.nodes],
        recorded_at={**base.recorded_at, **draft.recorded_at},
        event_count=draft.event_count + (base.digest.event_count if base.digest is not None else 0),
    )
