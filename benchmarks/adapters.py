"""How fast each adapter is by itself: splitting, decoding and parsing, without a store and without redaction.

Every adapter of the registry reads the largest real transcript that the shared corpus has of its agent, over and over
until 2 MB were read; one without any reads its own conformance fixtures instead. The best of three such runs counts,
and is compared with Claude Code's. Time goes into events more than into bytes, and those of fixtures are small: so
events per second are compared too, and Claude Code has a second row, on its own fixtures.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from benchmarks.support.places import REPOSITORY, Places, parser, places
from benchmarks.support.results import Section, publish
from recollect.agents.base import Adapter
from recollect.agents.registry import adapters
from recollect.capture.detect_agents import sort_out
from recollect.capture.discover import FoundSource, RootDir, discover
from recollect.capture.expand import expand
from recollect.capture.replay import replay
from recollect.capture.sources import open_found, read_head
from recollect.errors import SourceError
from recollect.model.records import Record, SourceInfo
from recollect.testing.fixtures import fixtures_in, lay_out

REFERENCE = "claude"
LEAST_BYTES = 2_000_000
RUNS = 3
BAR = 0.1
"""A share of the reference's MB/s; an adapter below it needs a reason."""
REASONS: dict[str, str] = {
    "codewhale": "each message is named by a hash of its content and the one before (not profiled)",
    "hermes": "rows: a line of JSON, then JSON in its columns; names are hashes of content (not profiled)",
    "otel": "attributes are lists of typed values, and each call repeats the messages before it (not profiled)",
}
"""Why an adapter is slower than that, by slug; not needed where it gives more events a second than the reference."""
_HEAD_BYTES = 64 * 1024
_STEP_BYTES = 8 * 1024 * 1024


class Source(NamedTuple):
    """A source in memory, ready to be split."""

    info: SourceInfo
    container: str
    data: bytes


class Sample(NamedTuple):
    """What an adapter is measured on. name: as it stands in the row."""

    name: str
    sources: list[Source]

    @property
    def size_bytes(self) -> int:
        """The bytes of all its sources."""
        return sum(len(source.data) for source in self.sources)


def real_samples(at: Places) -> dict[str, Sample]:
    """Return the largest real transcript of each agent in the shared corpus; nothing where the corpus is missing."""
    index = at.real_corpus / "index.json"
    if not index.is_file():
        return {}
    real = {entry["path"] for entry in json.loads(index.read_text("utf-8"))["files"] if entry.get("real")}
    found = sort_out(str(at.real_corpus), adapters(), known={}, read_head=read_head)
    samples = {}
    for slug, sources in found.sources.items():
        written = [s for s in sources if s.path.removeprefix(f"{at.real_corpus}/") in real]
        lane = min((s.place.lane for s in written), default=0)
        read = _read(adapters()[slug], [s for s in written if s.place.lane == lane])
        if read:
            largest = max(read, key=lambda source: len(source.data))
            samples[slug] = Sample(largest.info.place, [largest])
    return samples


def fixture_sample(at: Places, slug: str) -> Sample:
    """Return an adapter's own conformance fixtures, laid out in the cache."""
    root = at.cache / "fixtures" / slug
    shutil.rmtree(root, ignore_errors=True)
    sources: list[Source] = []
    count = 0
    for fixture in fixtures_in(REPOSITORY / "tests" / "conformance" / "fixtures", slug):
        here = root / str(count)
        lay_out(fixture, here)
        found = discover(adapters()[slug], [RootDir(str(here), False)], known_roles={}, read_head=read_head)
        sources += _read(adapters()[slug], found.sources)
        count += 1
    return Sample(f"{count} conformance fixtures", sources)


def _read(adapter: Adapter, found: list[FoundSource]) -> list[Source]:
    """Read sources into memory, documents instead of databases; what can't be read is left out."""
    sources = []
    for one in expand(found, ()).sources:
        try:
            data = _bytes_of(adapter, one)
        except SourceError:
            continue
        slug, role = adapter.facts.slug, one.place.role
        name = adapter.identify(SourceInfo.of(slug, role, one.relative), data[:_HEAD_BYTES])
        sources.append(Source(SourceInfo.of(slug, role, one.relative, name), one.place.container_name, data))
    return [source for source in sources if source.data]


def _bytes_of(adapter: Adapter, found: FoundSource) -> bytes:
    place = found.place
    data = bytearray()
    with open_found(
        found.path, adapter.facts.places, place.role, found.document, is_compressed=place.is_compressed
    ) as source:
        while piece := source.read_at(len(data), _STEP_BYTES):
            data += piece
    return bytes(data)


def parse_all(adapter: Adapter, sources: Iterable[Source]) -> tuple[int, int]:
    """Split, decode and parse sources once; returns the numbers of records and of events."""
    records = events = 0
    parse = adapter.parse
    for source in sources:
        state = adapter.begin(source.info)
        for batch in replay([source.data], source.container):
            for line in batch.lines:
                if line.decoded.is_json:
                    parsed = parse(Record(line.decoded.value, line.raw, records, line.at, line.changed), state)
                    state = parsed.state
                    records += 1
                    events += len(parsed.events)
    return records, events


def measured(adapter: Adapter, sample: Sample) -> dict[str, Any]:
    """Return the figures of one adapter on its sample."""
    rounds = -(-LEAST_BYTES // max(1, sample.size_bytes))
    records, events = parse_all(adapter, sample.sources)  # and once to have everything imported
    seconds = float("inf")
    for _ in range(RUNS):
        started = time.perf_counter()
        for _ in range(rounds):
            parse_all(adapter, sample.sources)
        seconds = min(seconds, time.perf_counter() - started)
    return {
        "sources": len(sample.sources),
        "bytes": sample.size_bytes,
        "rounds": rounds,
        "records": records,
        "events": events,
        "seconds": round(seconds, 4),
        "mb_per_s": round(sample.size_bytes * rounds / 1e6 / seconds, 2),
        "events_per_s": round(events * rounds / seconds),
    }


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure every adapter (or those of `options.agent`, beside the reference); returns one section."""
    wanted = getattr(options, "agent", None) or []
    print("adapters: looking for samples", file=sys.stderr)
    real = real_samples(at)
    rows: dict[str, dict[str, Any]] = {}
    for slug, adapter in adapters().items():
        if wanted and slug not in (*wanted, REFERENCE):
            continue
        print(f"adapters: {slug}", file=sys.stderr)
        samples = {slug: real[slug]} if slug in real else {}
        if slug not in real or slug == REFERENCE:
            samples[f"{slug}, fixtures" if samples else slug] = fixture_sample(at, slug)
        for key, sample in samples.items():
            figures = measured(adapter, sample) if sample.sources else {"mb_per_s": None}
            is_real = sample is real.get(slug)
            rows[key] = {"agent": adapter.facts.name, "sample": sample.name, "is_real": is_real, **figures}
    compare(rows)
    figures = {"reference": REFERENCE, "bar": BAR, "adapters": rows}
    return [Section("adapters/all", "Adapters: parsing alone", figures, render(figures))]


def compare(rows: dict[str, dict[str, Any]]) -> None:
    """Add to each row how it stands to the reference, whether that is slow, and why."""
    reference = rows[REFERENCE]
    for slug, row in rows.items():
        if row["mb_per_s"] is None:
            continue
        row["ratio"] = round(row["mb_per_s"] / reference["mb_per_s"], 3)
        row["events_ratio"] = round(row["events_per_s"] / reference["events_per_s"], 2)
        row["bytes_per_event"] = round(row["bytes"] / max(1, row["events"]))
        row["is_slow"] = row["ratio"] < BAR
        row["reason"] = ""
        if row["is_slow"]:
            row["reason"] = REASONS.get(slug, "")
            if not row["reason"] and row["events_ratio"] >= 1:
                sizes = f"{row['bytes_per_event']:,} bytes each, against {reference['bytes_per_event']:,}"
                row["reason"] = f"small events: {sizes}"


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    rows: dict[str, dict[str, Any]] = figures["adapters"]
    lines = [
        "| agent | sample | bytes | events | MB/s | ratio | events/s | ratio | |",
        "|---|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    for row in rows.values():
        if row["mb_per_s"] is None:
            lines.append(f"| {row['agent']} | nothing to read | | | | | | | |")
            continue
        sample = "real" if row["is_real"] else row["sample"]
        slow = f"**slow**: {row['reason'] or 'no reason given yet'}" if row["is_slow"] else ""
        lines.append(
            f"| {row['agent']} | {sample} | {row['bytes']:,} | {row['events']:,} | {row['mb_per_s']:.1f} "
            f"| {row['ratio']:.2f} | {row['events_per_s']:,} | {row['events_ratio']:.2f} | {slow} |"
        )
    slow_ones = [row for row in rows.values() if row.get("is_slow")]
    unexplained = sum(not row["reason"] for row in slow_ones)
    said = "Met." if not slow_ones else f"{len(slow_ones)} below it, {unexplained} of them without a reason."
    name = rows[figures["reference"]]["agent"]
    lines += ["", f"Bar: at least {figures['bar']} of the MB/s of {name} in the same run, or a reason. {said}"]
    return "\n".join(lines)


def main() -> None:
    """Measure and publish."""
    made = parser(__doc__)
    made.add_argument("--agent", action="append", metavar="SLUG", help="only this one, printed only (repeatable)")
    options = made.parse_args()
    publish(measure(places(options), options), dry=options.dry or bool(options.agent))


if __name__ == "__main__":
    main()
