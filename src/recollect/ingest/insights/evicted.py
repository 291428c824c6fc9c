"""Adds the analysis of what came on to what an evicted session came to before: nothing distilled is lost with raw."""

from __future__ import annotations

from recollect.store.insights import AnalysisDraft, Base


def added_to(base: Base, draft: AnalysisDraft) -> AnalysisDraft:
    """Return the analysis of the whole session. draft: of the events since; with none of them, nothing changes."""
    digest = draft.digest or base.digest
    if draft.digest is not None and base.digest is not None:
        from recollect.insights.digests.sum import added

        digest = added(base.digest, draft.digest)
    new = {node.id for node in draft.nodes}
    return draft._replace(
        digest=digest,
        signals=[*base.signals, *draft.signals],
        nodes=[*(node for node in base.nodes if node.id not in new), *draft.nodes],
        recorded_at={**base.recorded_at, **draft.recorded_at},
        event_count=draft.event_count + (base.digest.event_count if base.digest is not None else 0),
    )
