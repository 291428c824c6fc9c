"""One sweep: choose what goes, keep what stays of it, take the bytes away, give the disk back.

Killed anywhere, nothing is half gone: of a session first its rows go down to their skeleton and the cut of its bytes is
promised, in one transaction; then the bytes go. What is promised is made when the memory is next opened for writing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from recollect.archive.archive import Archive
from recollect.config import RetentionConfig
from recollect.erasure.cuts import compact, make_promised
from recollect.erasure.retention.choice import Choice, Limits, Step, age_order, choose, overflowing
from recollect.erasure.retention.reports import EvictedSession, EvictReport
from recollect.erasure.retention.skeleton import shortened, skeleton_of
from recollect.store.erasure.eviction import RawRange
from recollect.store.erasure.holdings import Holding, Holdings, read_holdings
from recollect.store.erasure.holes import WaitingCut
from recollect.store.insights import InsightReader
from recollect.store.reader import Reader
from recollect.store.writer import Writer

LARGE_BYTES = 64 * 1024
"""Records of at least so many bytes count as large results and images."""
DEAD_SHARE = 0.1
"""Packs are written anew when at least so much of them is dead."""
DAY_US = 24 * 3600 * 1_000_000
_ROUNDS = 4
"""What sessions really free is known afterwards: so often is looked again whether it was enough."""
_AUDITED_UIDS = 500


class Sides(NamedTuple):
    """What a sweep works on. The caller holds the ingest lock."""

    home: Path
    writer: Writer
    archive: Archive
    reader: Reader
    distilled: InsightReader


class Means(NamedTuple):
    """What a sweep asks of others. analyse: digests for sessions, now; mend: the index lets go of what went."""

    now_us: Callable[[], int]
    analyse: Callable[[Sequence[str]], None]
    mend: Callable[[], None]
    should_stop: Callable[[], bool] = lambda: False


def limits_of(config: RetentionConfig) -> Limits:
    """Return the limits of a configuration."""
    days = config.raw_max_age_days
    age = None if days == "never" else days * DAY_US
    return Limits(config.raw_soft_cap_bytes, config.raw_hard_cap_bytes, age, config.keep_gone)


def look(home: Path, limits: Limits) -> Holdings:
    """Return what sessions hold; what large results take only where the soft cap asks for it."""
    held = read_holdings(home)
    return held if held.raw_bytes <= limits.soft_cap_bytes else read_holdings(home, large_from_bytes=LARGE_BYTES)


def preview(home: Path, limits: Limits, *, now_us: int) -> EvictReport:
    """Return what a sweep would do now; nothing is changed. Raises StoreError and its kinds."""
    held = look(home, limits)
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


class Sweep:
    """One sweep over a home. Made for one use."""

    def __init__(self, sides: Sides, limits: Limits, means: Means) -> None:
        self._sides = sides
        self._limits = limits
        self._means = means
        self._done: set[tuple[str, str]] = set()
        self._now: set[str] = set()
        self.report = EvictReport(sessions=[], notes=[])

    def run(self) -> EvictReport:
        """Do what is due. Raises StoreError, ArchiveError, DiskFull; what was done by then stays, and is whole."""
        started = time.perf_counter()
        held = look(self._sides.home, self._limits)
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
        limits, home = self._limits, self._sides.home
        held = self._go(held, lambda now: choose(now, limits, now_us=self._means.now_us()))
        if held.raw_bytes <= limits.hard_cap_bytes or self.report.state != "done":
            return held.raw_bytes
        waiting = sorted((s for s in held.sessions if not s.is_covered and not s.is_pinned), key=age_order)
        if waiting:
            self._now = {s.session_uid for s in waiting}
            self._means.analyse([s.session_uid for s in waiting])
            held = self._go(look(home, limits), lambda now: choose(now, limits, now_us=self._means.now_us()))
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
                if self._means.should_stop():
                    self.report.state = "interrupted"
                    return held
                self._take(step, by_uid[step.session_uid])
            if not steps:
                break
            held = look(self._sides.home, self._limits)
        return held

    def _take(self, step: Step, session: Holding) -> None:
        self._done.add((step.session_uid, step.part))
        if step.session_uid in self._now and step.reason != "data_loss":
            step = step._replace(reason="overflow")
        if not (self._take_all(step) if step.part == "all" else self._take_large(step)):
            return
        make_promised(self._sides.archive, self._sides.writer, skip_damaged=True)
        _list(self.report, (step,), {session.session_uid: session})
        self.report.data_loss += step.reason == "data_loss"

    def _take_all(self, step: Step) -> bool:
        """Bring a session down to its skeleton and promise the cut; False where it may not go or holds nothing."""
        writer, at = self._sides.writer, self._means.now_us()
        evicting, uid = writer.removing.evicting, step.session_uid
        keep = skeleton_of(uid, evicting, self._sides.reader, self._sides.distilled, at=at)
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

    def _take_large(self, step: Step) -> bool:
        """Take the large results and images of a session away; False where it may not be or there are none."""
        writer, at = self._sides.writer, self._means.now_us()
        evicting, uid = writer.removing.evicting, step.session_uid
        ranges = evicting.large_ranges(uid, LARGE_BYTES)
        bodies = shortened(uid, {seq for seqs in ranges.values() for seq in seqs}, self._sides.reader, at=at)
        with writer.transaction():
            if not ranges or evicting.is_pinned(uid) or not evicting.is_covered(uid):
                return False
            evicting.replace_bodies(uid, bodies)
            evicting.mark_evicted(uid, at, is_whole=False)
            writer.removing.holes.wait(_promises(list(ranges), "evicted", at))
        return True

    def _finish(self) -> None:
        """Give the disk back, have the index let go, and keep that it was done."""
        report, sides = self.report, self._sides
        self._means.mend()
        freed = compact(sides.archive, sides.writer, least_dead_share=DEAD_SHARE)
        report.freed_bytes = freed.bytes_freed + sides.writer.removing.evicting.vacuum()
        value = {
            "sessions": len(report.sessions),
            "bytes": sum(session.bytes for session in report.sessions),
            "reasons": dict(Counter(session.reason for session in report.sessions)),
            "uids": [session.session_uid for session in report.sessions[:_AUDITED_UIDS]],
        }
        with sides.writer.transaction():
            sides.writer.removing.evicting.audit("evict", value, at=self._means.now_us())


def _promises(ranges: Sequence[RawRange], reason: str, at: int) -> list[WaitingCut]:
    return [WaitingCut(r.source_id, r.revision, r.start, r.stop - r.start, reason, at) for r in ranges]


def _report_of(limits: Limits, choice: Choice, *, is_dry_run: bool) -> EvictReport:
    return EvictReport(
        is_dry_run=is_dry_run, raw_bytes=choice.raw_bytes, left_bytes=choice.left_bytes, sessions=[], notes=[],
        soft_cap_bytes=limits.soft_cap_bytes, hard_cap_bytes=limits.hard_cap_bytes,
    )  # fmt: skip


def _list(report: EvictReport, steps: Sequence[Step], by_uid: dict[str, Holding]) -> None:
    for step in steps:
        s = by_uid[step.session_uid]
        report.sessions.append(
            EvictedSession(s.session_uid, s.agent, s.repo, step.reason, step.part, step.bytes, s.last_at, s.analyzed_at)
        )
