"""How many bindings of decisions with edits are right, beside what a person judged of them.

Every file with a judged pair (tests/quality/labels/bindings.ndjson) is distilled whole, as `recollect decisions` sees
it; then once more with the decisions that people labelled (decisions.ndjson) in place of those that were found, which
measures the binder alone. A binding and a judged pair are the same where the deciding words overlap and the edit is one
of the episode's. A binding is right where an edit of its episode carries the decision out; how often the very edit that
it names as its evidence does is counted beside that, where that edit was judged. Bindings that nobody judged are
counted and, with --unjudged, listed. Pairs of the fresh batches, each judged before anything was tuned on it, have rows
of their own, whichever way their decisions came.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.support.places import REPOSITORY, Places, parser, places
from benchmarks.support.results import Section, publish
from recollect.insights.preparation import analyse, default_stages
from recollect.insights.session_events import SessionEvents, by_session, evidence_of
from recollect.insights.stages import Stages
from recollect.memory import parse_file
from recollect.model.events import Event
from recollect.model.insights.nodes import (
    Binding,
    Conversation,
    Decision,
    Episode,
    EvidenceRole,
    Node,
    Option,
    Speaker,
    node_id,
)

LABELS = REPOSITORY / "tests" / "quality" / "labels" / "bindings.ndjson"
TURNS = LABELS.with_name("decisions.ndjson")
BAR = 0.95
FRESH = ("fresh", "fresh2")
"""The batches of pairs, and the rows, of what was judged before anything was tuned on it."""
Label = dict[str, Any]
InstallContext = tuple[Conversation, Decision]
"""A decision of a person's judgement, with the conversation that it stands in."""


class Bound(NamedTuple):
    """A binding with its two ends, and the judged pair that it is: that of the edit it names, else another of its
    episode, else None."""

    file: str
    binding: Binding
    source: Decision | Conversation
    episode: Episode
    label: Label | None

    def is_right(self) -> bool:
        """Say whether an edit of the episode carries the decision out."""
        return self.label is not None and (self.label["is_right"] or self.label.get("episode_is_right", False))

    def names_judged(self) -> bool:
        """Say whether the edit that it names was judged."""
        return self.label is not None and names_edit(self.label, self.binding)


def read(path: Path) -> list[Label]:
    """Return the labels of a file. Raises FileNotFoundError."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def bound_in(
    at: Places, labels: Sequence[Label], turns: Sequence[Label] | None = None, given: Sequence[Label] = ()
) -> Iterator[Bound]:
    """Yield the bindings of every session of the files with a judged pair; a session that several files hold once.

    turns: labelled turns whose decisions take the place of those that are found. given: pairs that bring a decision of
    their own; those are added to the turns', and only their bindings are yielded.
    """
    stages = default_stages()
    seen: set[str] = set()
    for file in sorted({label["file"] for label in labels}):
        path = at.real_corpus / file
        for uid, events in by_session(parse_file(path)).items() if path.is_file() else ():
            own: set[str] = set()
            if turns is None:
                nodes = analyse(events, stages=stages).nodes
            else:
                session = SessionEvents(events)
                brought = brought_by(session, [pair for pair in given if pair["session_uid"] == uid])
                own = {decision.id for _, decision in brought}
                nodes = of_labels(session, [t for t in turns if t["session_uid"] == uid], stages, brought)
            by_id = {node.id: node for node in nodes}
            of_session = [label for label in labels if label["session_uid"] == uid]
            for node in nodes:
                if isinstance(node, Binding) and node.id not in seen and (node.source in own or not given):
                    seen.add(node.id)
                    source, episode = by_id[node.source], by_id[node.episode]
                    assert isinstance(source, Decision | Conversation)
                    assert isinstance(episode, Episode)
                    judged = [label for label in of_session if is_same(label, source, episode)]
                    judged.sort(key=lambda label: not names_edit(label, node))
                    yield Bound(file, node, source, episode, judged[0] if judged else None)


def of_labels(
    session: SessionEvents, turns: Sequence[Label], stages: Stages, brought: Sequence[InstallContext] = ()
) -> list[Node]:
    """Return the decisions that people labelled in a session, its episodes, and the bindings between them.

    brought: further decisions.
    """
    found = [*brought]
    for turn in turns:
        words = [decision["quote"] for decision in turn["decisions"]]
        event = said_in(session, turn["record"], turn["quote"], words) if turn["is_decision"] else None
        for number, label in enumerate(turn["decisions"] if event else ()):
            assert event is not None
            answers = label.get("answers")
            proposal = said_in(session, answers["record"], answers["quote"]) if answers else None
            found.append(labelled(event, label, proposal, speaker=turn["speaker"], number=number))
    conversations, decisions = [c for c, _ in found], [d for _, d in found]
    episodes = stages.grouper.episodes(session, ()) if found else []
    bindings = stages.binder.bindings(session, conversations, decisions, episodes)
    return [*conversations, *decisions, *episodes, *bindings]


def brought_by(session: SessionEvents, pairs: Sequence[Label]) -> list[InstallContext]:
    """Return the decisions that judged pairs bring with them, each once, as nodes."""
    said = {(e.event_id, e.part): e for e in session.talk()}
    found: dict[str, InstallContext] = {}
    for pair in pairs:
        source, decision = pair["source"], pair["decision"]
        event = said.get((source["event_id"], source["part"]))
        if event is None:  # an earlier state of the session, in another file
            continue
        words = str(getattr(event.payload, "text", ""))[source["start"] : source["end"]]
        nodes = labelled(event, {**decision, "quote": words}, None, speaker=decision["speaker"], number=0)
        found.setdefault(nodes[1].id, nodes)
    return list(found.values())


def said_in(session: SessionEvents, record: int, quote: str, words: Sequence[str] = ()) -> Event | None:
    """Return the message of a record that holds the beginning of a quote, and the deciding words.

    A history of Aider is one record, with many replies that begin alike.
    """
    for event in session.talk():
        text = getattr(event.payload, "text", "")
        if event.location.record_index == record and all(part in text for part in (quote[:40], *words)):
            return event
    return None


def labelled(event: Event, label: Label, proposal: Event | None, *, speaker: Speaker, number: int) -> InstallContext:
    """Return a labelled decision as nodes. proposal: what it answers."""
    text = str(getattr(event.payload, "text", ""))
    start = max(0, text.find(label["quote"]))
    before = [evidence_of(proposal, "proposal")] if proposal else []
    role: EvidenceRole = "confirmation" if proposal else "statement"
    evidence = (*before, evidence_of(event, role, start, start + len(label["quote"])))
    proposed = str(getattr(proposal.payload, "text", "")) + "\n\n" if proposal else ""
    place: dict[str, Any] = {
        "session_uid": event.session_uid, "location": event.location, "ts": event.ts,
        "turn_index": event.turn_index, "evidence": evidence,
    }  # fmt: skip
    key = (event.event_id, event.part, start, number)
    talk = Conversation(id=node_id("conversation", event.session_uid, *key), text=proposed + text[:1200], **place)
    options = [Option(o, True) for o in label["chosen"]] + [Option(o, False) for o in label["rejected"]]
    decision = Decision(
        id=node_id("decision", event.session_uid, *key), statement=label["quote"], polarity=label["polarity"],
        speaker=speaker, options=tuple(options), conversation=talk.id, **place,
    )  # fmt: skip
    return talk, decision


def is_same(label: Label, source: Decision | Conversation, episode: Episode) -> bool:
    """Say whether a judged pair is of these two nodes."""
    edited = label["episode"]
    edits = {(e.evidence.event_id, e.evidence.part) for e in episode.edits}
    return is_said(label, source) and (edited["event_id"], edited["part"]) in edits


def names_edit(label: Label, binding: Binding) -> bool:
    """Say whether the edit of a judged pair is the one that a binding names."""
    edited, named = label["episode"], binding.evidence[0]
    return (named.event_id, named.part) == (edited["event_id"], edited["part"])


def is_said(label: Label, source: Decision | Conversation) -> bool:
    """Say whether the deciding words of a judged pair overlap those that a node rests on."""
    said = label["source"]
    places = {(e.event_id, e.part): e for e in source.evidence}
    evidence = places.get((said["event_id"], said["part"]))
    if evidence is None:
        return False
    end = evidence.end or sys.maxsize
    return evidence.start < max(said["end"], said["start"] + 1) and said["start"] < end


def figures_of(bound: Sequence[Bound]) -> dict[str, Any]:
    """Return how many bindings there are, how many of them were judged, and how many of those are right; then of how
    many the edit that they name was judged, and is right."""
    judged = [b for b in bound if b.label is not None]
    right = sum(b.is_right() for b in judged)
    named = [b.label["is_right"] for b in judged if b.label and b.names_judged()]
    return {
        "bindings": len(bound),
        "judged": len(judged),
        "right": right,
        "precision": round(right / len(judged), 4) if judged else None,
        "edits_judged": len(named),
        "edits_right": sum(named),
        "edit_precision": round(sum(named) / len(named), 4) if named else None,
    }


def found_again(bound: Sequence[Bound], labels: Sequence[Label]) -> dict[str, int]:
    """Return how many of the right pairs are bound: a lower bound of recall, as nobody looked for all pairs."""
    found = {b.label["id"] for b in bound if b.label is not None}
    right = [label for label in labels if label["is_right"]]
    return {"right_pairs": len(right), "bound": sum(label["id"] in found for label in right)}


def share_of(value: float | None) -> str:
    """Return a share with three digits, "-" for none."""
    return "-" if value is None else f"{value:.3f}"


def text_of(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    lines = [
        "| decisions | split | bindings | judged | right | precision | bar | edit named | right | share |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in ("found", "labelled", *FRESH):
        for split, row in figures[name].items():
            counts = f"{row['bindings']} | {row['judged']} | {row['right']}"
            edits = f"{row['edits_judged']} | {row['edits_right']} | {share_of(row['edit_precision'])}"
            lines.append(f"| {name} | {split} | {counts} | {share_of(row['precision'])} | {BAR:.2f} | {edits} |")
    pairs = figures["pairs"]
    lines += [
        "",
        f"Of {pairs['right_pairs']} pairs that are judged right, {pairs['bound']} are bound in one of the ways.",
    ]
    return "\n".join(lines)


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Bind every file with a judged pair; returns one section."""
    labels = read(LABELS)
    if not at.real_corpus.is_dir():
        raise FileNotFoundError(f"no {at.real_corpus}; name the folder with --shared")
    turns, given = read(TURNS), [label for label in labels if "decision" in label]
    found = list(bound_in(at, labels))
    labelled_ones = list(bound_in(at, labels, turns))
    brought = list(bound_in(at, labels, turns, given)) if given else []
    every = [*found, *labelled_ones, *brought]
    if getattr(options, "unjudged", False):
        for b in every:
            if b.label is None:
                print(unjudged(b), file=sys.stderr)
    fresh = {b.label["id"] if b.label else b.binding.id: b for b in (*every, *brought) if batch_of(b, given)}
    figures = {
        "found": by_split([b for b in found if not batch_of(b, given)]),
        "labelled": by_split([b for b in labelled_ones if not batch_of(b, given)]),
        **{name: by_split([b for b in fresh.values() if batch_of(b, given) == name]) for name in FRESH},
        "pairs": found_again(every, labels),
        "bar": BAR,
    }
    title = "Bindings of decisions with edits, against judged pairs"
    return [Section("distill_bindings/real", title, figures, text_of(figures))]


def batch_of(bound: Bound, given: Sequence[Label]) -> str:
    """Return the fresh batch that a binding is of: that of its pair, else that its words were written down for; ""."""
    if bound.label is not None:
        return str(bound.label.get("batch", ""))
    source = bound.source
    return next((str(p["batch"]) for p in given if p["session_uid"] == source.session_uid and is_said(p, source)), "")


def by_split(bound: Sequence[Bound]) -> dict[str, dict[str, Any]]:
    """Return the figures of each half and of both."""
    return {
        split: figures_of([b for b in bound if split in ("all", split_of(b.binding.session_uid))])
        for split in ("dev", "test", "all")
    }


def split_of(session_uid: str) -> str:
    """Return the half that a session falls into: by the first hex digit of its hash."""
    return "dev" if hashlib.sha256(session_uid.encode()).hexdigest()[0] < "8" else "test"


def unjudged(bound: Bound) -> str:
    """Return a line for a person who is to judge a binding."""
    said = bound.source.statement if isinstance(bound.source, Decision) else bound.source.text
    names = "+".join(sorted(bound.binding.features))
    return f"{bound.file} {bound.binding.id} {names}: {said[:160]!r} -> {', '.join(bound.episode.paths)[:120]}"


def main() -> int:
    """Measure and publish."""
    made = parser(__doc__)
    made.add_argument("--unjudged", action="store_true", help="list the bindings that nobody judged")
    options = made.parse_args()
    publish(measure(places(options), options), dry=options.dry)
    return 0


if __name__ == "__main__":
    sys.exit(main())
