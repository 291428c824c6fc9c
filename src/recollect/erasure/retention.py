"""A retention sweep: choose what goes, keep its skeleton, delete its bytes, free the disk space.

Killed anywhere, nothing is half gone: of a session first its rows go down to their skeleton and the cut of its bytes is
promised, in one transaction; then the bytes go. What is promised is made when the memory is next opened for writing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from recollect.archive.archive import Archive
from recollect.config import RetentionConfig
from recollect.erasure.cuts import compact, make_promised
from recollect.erasure.reports import EvictedSession, EvictReason, EvictReport
from recollect.model.insights.nodes import evidence_of
from recollect.model.payloads import AssistantMessage, Payload, ToolResult, UserMessage
from recollect.model.time import day_of
from recollect.store.bodies import capped_body
from recollect.store.erasure.evict_rows import EvictionWriter, Holding, Holdings, RawRange, read_holdings
from recollect.store.erasure.holes import WaitingCut
from recollect.store.insights import InsightReader, NodeFilter
from recollect.store.reader import Reader
from recollect.store.writer import Writer

LARGE_BYTES = 64 * 1024
"""Records of at least so many bytes count as large results and images."""
DEAD_SHARE = 0.1
"""Packs are written again when at least so much of them is dead."""
DAY_US = 24 * 3600 * 1_000_000
_ROUNDS = 4
"""What sessions really free is known afterwards: so often is looked again whether it was enough."""
_AUDITED_UIDS = 500


class SweepContext(NamedTuple):
    """What a sweep works on and asks of others. The caller holds the ingest lock.

    analyse: makes digests for sessions, now. renew_index: has the search index let go of what went.
    """

    home: Path
    writer: Writer
    archive: Archive
    reader: Reader
    distilled: InsightReader
    now_us: Callable[[], int]
    analyse: Callable[[Sequence[str]], None]
    renew_index: Callable[[], None]
    should_stop: Callable[[], bool] = lambda: False


def limits_of(config: RetentionConfig) -> RetentionLimits:
    """Return the limits of a configuration."""
    days = config.raw_max_age_days
    age = None if days == "never" else days * DAY_US
    return RetentionLimits(config.raw_soft_cap_bytes, config.raw_hard_cap_bytes, age, config.keep_gone)


def look(home: Path, limits: RetentionLimits) -> Holdings:
    """Return what sessions hold; what large results take only where the soft cap asks for it."""
    held = read_holdings(home)
    return held if held.raw_bytes <= limits.soft_cap_bytes else read_holdings(home, large_from_bytes=LARGE_BYTES)


def preview(held: Holdings, limits: RetentionLimits, *, now_us: int) -> EvictReport:
    """Return what a sweep would do now with what `look` found; changes nothing."""
    by_uid = {session.session_uid: session for session in held.sessions}
    choice = choose(held, limits, now_us=now_us)
    report = _report_of(limits, choice, is_dry_run=True)
    _list(report, choice.steps, by_uid)
    if choice.left_bytes <= limits.hard_cap_bytes:
        return report
    gone = {step.session_uid for step in choice.steps if step.part == "all"}
    rest = held._replace(
        sessions=[
            s._replace(is_covered=True, analyzed_at=s.analyzed_at if s.is_covered else now_us)
            for s in held.sessions
            if s.session_uid not in gone
        ]
    )
    more = choose(rest, limits, now_us=now_us)
    more = overflowing(rest, limits) if more.left_bytes > limits.hard_cap_bytes else more
    _list(report, [step._replace(reason="overflow") for step in more.steps], by_uid)
    report.left_bytes = more.left_bytes
    if any(not by_uid[step.session_uid].is_covered for step in more.steps):
        report.notes.append(
            "above the hard cap: sessions that are not analysed yet would be analysed first; any that cannot be would "
            "go too, as data loss"
        )
    return report


class RetentionSweep:
    """One sweep over a home. Made for one use."""

    def __init__(self, context: SweepContext, limits: RetentionLimits) -> None:
        self._context = context
        self._limits = limits
        self._done: set[tuple[str, str]] = set()
        self._now: set[str] = set()
        self.report = EvictReport(sessions=[], notes=[])

    def run(self) -> EvictReport:
        """Do what is due. Raises StoreError, ArchiveError, DiskFull; completed steps stay."""
        started = time.perf_counter()
        held = look(self._context.home, self._limits)
        self.report = _report_of(self._limits, Choice((), held.raw_bytes, held.raw_bytes), is_dry_run=False)
        try:
            left = self._passes(held)
        finally:
            if self.report.sessions:
                self._finish()
            self.report.seconds = time.perf_counter() - started
        self.report.left_bytes = left
        return self.report

    def _passes(self, held: Holdings) -> int:
        limits, home = self._limits, self._context.home
        held = self._go(held, lambda now: choose(now, limits, now_us=self._context.now_us()))
        if held.raw_bytes <= limits.hard_cap_bytes or self.report.state != "done":
            return held.raw_bytes
        waiting = sorted((s for s in held.sessions if not s.is_covered and not s.is_pinned), key=age_order)
        if waiting:
            self._now = {s.session_uid for s in waiting}
            self._context.analyse([s.session_uid for s in waiting])
            held = self._go(look(home, limits), lambda now: choose(now, limits, now_us=self._context.now_us()))
        held = self._go(held, lambda now: overflowing(now, limits))
        if held.raw_bytes > limits.hard_cap_bytes and self.report.state == "done":
            self.report.notes.append("still above the hard cap: everything that is left is pinned")
        return held.raw_bytes

    def _go(self, held: Holdings, choose_from: Callable[[Holdings], Choice]) -> Holdings:
        """Do what is chosen, and look again whether that was enough."""
        for _ in range(_ROUNDS):
            by_uid = {session.session_uid: session for session in held.sessions}
            steps = [s for s in choose_from(held).steps if (s.session_uid, s.part) not in self._done]
            for step in steps:
                if self._context.should_stop():
                    self.report.state = "interrupted"
                    return held
                self._take(step, by_uid[step.session_uid])
            if not steps:
                break
            held = look(self._context.home, self._limits)
        return held

    def _take(self, step: Eviction, session: Holding) -> None:
        self._done.add((step.session_uid, step.part))
        if step.session_uid in self._now and step.reason != "data_loss":
            step = step._replace(reason="overflow")
        if not (self._take_all(step) if step.part == "all" else self._take_large(step)):
            return
        make_promised(self._context.archive, self._context.writer, skip_damaged=True)
        _list(self.report, (step,), {session.session_uid: session})
        self.report.data_loss += step.reason == "data_loss"

    def _take_all(self, step: Eviction) -> bool:
        """Bring a session down to its skeleton and promise the cut; False where it may not go or holds nothing."""
        writer, at = self._context.writer, self._context.now_us()
        evicting, uid = writer.removing.evicting, step.session_uid
        keep = skeleton_of(uid, evicting, self._context.reader, self._context.distilled, at=at)
        with writer.transaction():
            # Asked again where nobody else can write: a pin may have come since.
            if evicting.is_pinned(uid) or (step.reason != "data_loss" and not evicting.is_covered(uid)):
                return False
            ranges = evicting.ranges(uid)
            gone = evicting.remove_events(uid, keep=keep)
            if not gone and not ranges:
                return False
            evicting.mark_evicted(uid, at)
            writer.removing.holes.wait(_promises(ranges, "data_loss" if step.reason == "data_loss" else "evicted", at))
            if step.reason == "data_loss":
                value = {
                    "event": "session_memory.data_loss",
                    "session_uid": uid,
                    "bytes": step.bytes,
                    "events": len(gone),
                }
                evicting.audit("data_loss", value, at=at)
        return True

    def _take_large(self, step: Eviction) -> bool:
        """Take the large results and images of a session away; False where it may not be or there are none."""
        writer, at = self._context.writer, self._context.now_us()
        evicting, uid = writer.removing.evicting, step.session_uid
        ranges = evicting.large_ranges(uid, LARGE_BYTES)
        bodies = shortened(uid, {seq for seqs in ranges.values() for seq in seqs}, self._context.reader, at=at)
        with writer.transaction():
            if not ranges or evicting.is_pinned(uid) or not evicting.is_covered(uid):
                return False
            evicting.replace_bodies(uid, bodies)
            evicting.mark_evicted(uid, at, is_whole=False)
            writer.removing.holes.wait(_promises(list(ranges), "evicted", at))
        return True

    def _finish(self) -> None:
        """Give the disk back, have the index let go, and keep that it was done."""
        report, context = self.report, self._context
        self._context.renew_index()
        freed = compact(context.archive, context.writer, least_dead_share=DEAD_SHARE)
        report.freed_bytes = freed + context.writer.removing.evicting.vacuum()
        value = {
            "sessions": len(report.sessions),
            "bytes": sum(session.bytes for session in report.sessions),
            "reasons": dict(Counter(session.reason for session in report.sessions)),
            "uids": [session.session_uid for session in report.sessions[:_AUDITED_UIDS]],
        }
        with context.writer.transaction():
            context.writer.removing.evicting.audit("evict", value, at=self._context.now_us())


def _promises(ranges: Sequence[RawRange], reason: str, at: int) -> list[WaitingCut]:
    return [WaitingCut(r.source_id, r.revision, r.start, r.stop - r.start, reason, at) for r in ranges]


def _report_of(limits: RetentionLimits, choice: Choice, *, is_dry_run: bool) -> EvictReport:
    return EvictReport(
        is_dry_run=is_dry_run, raw_bytes=choice.raw_bytes, left_bytes=choice.left_bytes, sessions=[], notes=[],
        soft_cap_bytes=limits.soft_cap_bytes, hard_cap_bytes=limits.hard_cap_bytes,
    )  # fmt: skip


def _list(report: EvictReport, steps: Sequence[Eviction], by_uid: dict[str, Holding]) -> None:
    for step in steps:
        s = by_uid[step.session_uid]
        report.sessions.append(
            EvictedSession(s.session_uid, s.agent, s.repo, step.reason, step.part, step.bytes, s.last_at, s.analyzed_at)
        )


KeepGone = Literal["age", "always", "never"]


class RetentionLimits(NamedTuple):
    """What is allowed, see `config.retention`. max_age_us None: any age."""

    soft_cap_bytes: int
    hard_cap_bytes: int
    max_age_us: int | None
    keep_gone: KeepGone = "age"


class Eviction(NamedTuple):
    """One thing to do. part: the whole session, or only its large results and images. bytes: about what that frees."""

    session_uid: str
    reason: EvictReason
    part: Literal["all", "large"]
    bytes: int


class Choice(NamedTuple):
    """The steps in order; raw_bytes: size before; left_bytes: approximate size after."""

    steps: tuple[Eviction, ...]
    raw_bytes: int
    left_bytes: int


def choose(held: Holdings, limits: RetentionLimits, *, now_us: int) -> Choice:
    """Return the steps of the passes for age and for the soft cap: only analysed sessions, oldest first.

    The second stops as soon as the rest fits. It takes only large results and images if these are enough.
    """
    left = _Left(held)
    analysed = sorted((s for s in held.sessions if s.is_covered and not s.is_pinned), key=age_order)
    steps: list[Eviction] = []
    for session in analysed:
        if _is_too_old(session, limits, now_us):
            steps += left.take(session, "age")
    spares_gone = limits.keep_gone == "always"
    rest = [s for s in analysed if s.session_uid not in left.taken and not (spares_gone and s.is_gone)]
    over = left.bytes - limits.soft_cap_bytes
    take = left.take_large if 0 < over <= sum(s.large_bytes for s in rest) else left.take
    for session in rest:
        if left.bytes <= limits.soft_cap_bytes:
            break
        steps += take(session, "budget")
    return Choice(tuple(steps), held.raw_bytes, left.bytes)


def overflowing(held: Holdings, limits: RetentionLimits) -> Choice:
    """Return the last resort above the hard cap, after everything that can be analysed was: first analysed sessions
    that were spared because their file is gone, then those that are not analysed; of both oldest first.

    What a person has pinned never goes.
    """
    left = _Left(held)
    steps: list[Eviction] = []
    loose = (session for session in held.sessions if not session.is_pinned)
    for session in sorted(loose, key=lambda session: (not session.is_covered, *age_order(session))):
        if left.bytes <= limits.hard_cap_bytes:
            break
        steps += left.take(session, "overflow" if session.is_covered else "data_loss")
    return Choice(tuple(steps), held.raw_bytes, left.bytes)


def _is_too_old(session: Holding, limits: RetentionLimits, now_us: int) -> bool:
    if limits.max_age_us is None or (session.is_gone and limits.keep_gone != "never"):
        return False
    return max(session.last_at, session.taken_at) <= now_us - limits.max_age_us


def age_order(session: Holding) -> tuple[int, str]:
    """The order in which sessions go: first the one that was active longest ago, whenever it came or was analysed."""
    return session.last_at, session.session_uid


class _Left:
    """What is left while sessions go one by one. A shared chunk goes with the last that has it."""

    def __init__(self, held: Holdings) -> None:
        self.bytes = held.raw_bytes
        self.taken: set[str] = set()
        self._shared = dict(held.shared)

    def take(self, session: Holding, reason: EvictReason) -> Sequence[Eviction]:
        """Let a whole session go; nothing where it holds nothing."""
        freed = session.archive_bytes + session.text_bytes
        if not freed and not session.shared:
            return ()
        self.taken.add(session.session_uid)
        for number in session.shared:
            chunk = self._shared[number]._replace(holders=self._shared[number].holders - 1)
            self._shared[number] = chunk
            freed += 0 if chunk.holders else chunk.stored_bytes
        self.bytes -= freed
        return (Eviction(session.session_uid, reason, "all", freed),)

    def take_large(self, session: Holding, reason: EvictReason) -> Sequence[Eviction]:
        """Let a session's large results and images go; nothing where it has none."""
        if not session.large_bytes:
            return ()
        self.bytes -= session.large_bytes
        return (Eviction(session.session_uid, reason, "large", session.large_bytes),)


SAID_CHARS = 8192
"""How much of what a person or the model said is kept; a conversation's own text stays whole in its node."""
DONE_CHARS = 1024
"""How much is kept of each text of a call, a result, an edit or anything else."""


def skeleton_of(
    uid: str, evicting: EvictionWriter, reader: Reader, distilled: InsightReader, *, at: int
) -> dict[int, bytes]:
    """Return the bodies to keep of a session, by seq: what nodes rest on, the first prompt, the last words.

    Reads each of these events whole, from the archive if necessary. at: when the rest goes, UTC microseconds.
    """
    cited = (
        (evidence.event_id, evidence.part)
        for kept in distilled.nodes(NodeFilter(sessions=(uid,), with_revoked=True))
        for evidence in evidence_of(kept.node)
        if evidence.session_uid == uid
    )
    return _bodies(uid, evicting.cited(uid, cited) | evicting.ends(uid), reader, at)


def shortened(uid: str, seqs: Iterable[int], reader: Reader, *, at: int) -> dict[int, bytes]:
    """Return the bodies of events whose records go while their session stays: messages whole, results cut."""
    return _bodies(uid, seqs, reader, at, said_chars=None)


def _bodies(
    uid: str, seqs: Iterable[int], reader: Reader, at: int, *, said_chars: int | None = SAID_CHARS
) -> dict[int, bytes]:
    note = f"not kept: evicted on {day_of(at)}"
    found: dict[int, bytes] = {}
    for seq in sorted(seqs):
        for event in reader.events(uid, first_seq=seq, limit=1, include_hidden=True):
            if event.seq == seq:
                limit = said_chars if isinstance(event.payload, UserMessage | AssistantMessage) else DONE_CHARS
                found[seq] = capped_body(_without_copies(event.payload), max_chars=limit, note=note)
    return found


def _without_copies(payload: Payload) -> Payload:
    """A result's structured output mostly says its text again."""
    if not isinstance(payload, ToolResult) or payload.structured is None or not payload.text:
        return payload
    return msgspec.structs.replace(payload, structured=None)
