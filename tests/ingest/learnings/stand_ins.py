"""An extractor of one rule, so that tests of keeping don't change with the rules that ship."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from recollect.ingest.operations import take_changes
from recollect.insights.learnings.identity import confidence_of, learning_id
from recollect.memory import Memory
from recollect.model.learnings.learnings import Learning, LearningEvidence, LearningKind
from recollect.model.payloads import UserMessage
from recollect.store.insight_feed import AnalysisInput

_SAID = re.compile(r"(?P<kind>fact|pattern|correction|preference|action)(?P<held>!?): (?P<text>[^\n]+)")


class OneRule:
    """`preference: use tabs` is one; `fact!: …` is held back. What begins with `done:` ends an action."""

    def __init__(self, version: str = "one@1", *, without: str = "") -> None:
        """without: a text that this version does not find."""
        self.version = version
        self.read: list[str] = []
        """The sessions that were read, in order."""
        self._without = without

    def extract(self, of_session: AnalysisInput) -> Sequence[Learning]:
        session = of_session.session
        self.read.append(session.session_uid)
        found: dict[str, Learning] = {}
        for one in self._said(of_session):
            before = found.get(one.id)
            evidence = one.evidence if before is None else (*before.evidence, *one.evidence)
            found[one.id] = Learning(**{f: getattr(one, f) for f in one.__struct_fields__} | {"evidence": evidence})
        return list(found.values())

    def _said(self, of_session: AnalysisInput) -> Iterator[Learning]:
        session = of_session.session
        for event in of_session.events:
            if not isinstance(event.payload, UserMessage):
                continue
            for match in _SAID.finditer(event.payload.text):
                kind: LearningKind = match["kind"]  # type: ignore[assignment]
                text = match["text"].strip()
                if self._without and self._without in text:
                    continue
                scope = "user" if kind == "preference" else "repo"
                repo = "" if scope == "user" else session.repo
                yield Learning(
                    id=learning_id(kind, scope, repo, "", text),  # type: ignore[arg-type]
                    kind=kind,
                    text=text,
                    scope=scope,  # type: ignore[arg-type]
                    repo=repo,
                    state="quarantined" if match["held"] else "active",
                    features={"said": 0.7},
                    confidence=confidence_of({"said": 0.7}),
                    valid_from=event.ts,
                    evidence=(
                        LearningEvidence(
                            session.session_uid, event.event_id, event.part, "user", event.seq, event.ts, text
                        ),
                    ),
                    extractor=self.version,
                )

    def closed(self, of_session: AnalysisInput, pending: Iterable[Learning]) -> Sequence[Learning]:
        ended: dict[str, Learning] = {}
        for event in of_session.events:
            if not isinstance(event.payload, UserMessage) or not event.payload.text.startswith("done: "):
                continue
            for one in pending:
                asked = max((e.ts or 0 for e in one.evidence), default=0)
                if one.text in event.payload.text and (event.ts or 0) > asked:
                    evidence = LearningEvidence(
                        of_session.session.session_uid, event.event_id, event.part, "user", event.seq, event.ts
                    )
                    fields = {f: getattr(one, f) for f in one.__struct_fields__}
                    ended.setdefault(one.id, Learning(**fields | {"evidence": (evidence,), "done_at": event.ts}))
        return list(ended.values())


def take_in(memory: Memory) -> None:
    """Take in what agents wrote; nothing is learned."""
    take_changes(memory, None, should_stop=lambda: False)


def told(memory: Memory) -> list[tuple[object, ...]]:
    """Return all that was learned, without what depends on when it was."""
    found = [
        (
            one.id, one.kind, one.text, one.scope, one.repo, one.state, one.status, one.confidence,
            tuple(sorted(one.features.items())), one.valid_from, one.expires_at, one.done_at, one.superseded_by,
            tuple((e.session_uid, e.event_id, e.part, e.author, e.seq, e.quote) for e in one.evidence),
        )
        for one in memory.learn.learnings()
    ]  # fmt: skip
    return sorted(found)


def states(memory: Memory) -> dict[str, str]:
    """Return the state of every learning by its text."""
    return {one.text: one.state for one in memory.learn.learnings()}
