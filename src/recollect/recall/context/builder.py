"""Builds a block: asks the sources, keeps the most valuable lines within the budget, in a stable order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import msgspec

from recollect.model.text import one_line
from recollect.model.time import day_of
from recollect.recall.context.compacted import EditedFiles, LastPlan, Requests, StillFailing
from recollect.recall.context.failures import FailuresHere, Fixed, Unfixed
from recollect.recall.context.history import DecidedHere, DiaryHere, WorkedOn
from recollect.recall.context.learnings import LearnedHere, PendingActions, quotable, sections
from recollect.recall.context.lines import LINE_TOKENS, MISSED, ContextEvent, ContextLine, ContextRequest, ContextSource
from recollect.recall.context.person_files import Front, PersonFile, fronts, said_in
from recollect.recall.context.tokens import tokens_of
from recollect.recall.quotes import clean, quoted
from recollect.recall.related_events import RelatedEvent
from recollect.store.context_rows import TOLD_NOTE

LATER_CHARS = 160
LINE_CHARS = 700
"""One line, its citation left out, is cut here."""
_NOTE = "Each line ends with its source, which Recollect opens in full."


class ContextBlock(msgspec.Struct, frozen=True):
    """What an agent is given. Empty: there is nothing worth saying.

    text: the whole block, quoted; "" when empty. lines: its cited lines. left_out: lines worth it that had no room.
    tokens: of the text, at most. citations, identifiers: what the lines cite and name, to tell later whether they were
    used. notes: what went wrong; a block never fails. files: the person's own files that lead it, by name.
    """

    text: str = ""
    lines: tuple[str, ...] = ()
    left_out: int = 0
    tokens: int = 0
    citations: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    repo: str = ""
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def cut_to(self, text: str) -> ContextBlock:
        """Return the block as the agent will see it: what its answer's limit of characters cuts off is not logged."""
        if text == self.text:
            return self
        kept = tuple(citation for citation in self.citations if f"[{citation}]" in text)
        return msgspec.structs.replace(self, text=text, citations=kept)


class _Section(msgspec.Struct):
    heading: str
    candidates: list[ContextLine]


class _Page:
    """A block that is being fitted into its budget."""

    def __init__(self, fronts: list[Front], sections: list[_Section], left_out: int, notice: str) -> None:
        self.fronts = fronts
        self.sections = sections
        self.left_out = left_out
        self.notice = notice
        self.has_further_citations = True

    def text(self) -> str:
        """Return the present block, "" if it says nothing."""
        before = [line for front in self.fronts for line in front.lines]
        lines: list[str] = []
        for section in self.sections:
            lines.append(section.heading)
            lines += [self.line(candidate) for candidate in section.candidates]
        if not lines:
            before += [self.notice] if self.notice else []
            return quoted([], before=before) if before else ""
        if self.left_out:
            lines.append(f"Left out: {self.left_out} more.")
        lines += [self.notice] if self.notice else []
        return quoted(lines, note=_NOTE, before=before)

    def line(self, candidate: ContextLine) -> str:
        """Return a candidate's line with its citation."""
        text = " ".join(clean(candidate.text, limit=LINE_CHARS).split())
        also = f" [{candidate.also}]" if candidate.also and self.has_further_citations else ""
        later = "".join(f"\n{_later_line(event)}" for event in candidate.later)
        return f"- {text} [{candidate.citation}]{also}{later}"

    def candidates(self) -> list[ContextLine]:
        """Return what it says, in order."""
        return [candidate for section in self.sections for candidate in section.candidates]

    def shorten(self, excess: int) -> bool:
        """Leave out the least valuable parts, about this many tokens; return False if nothing is left.

        First further citations, then lines, then our own notice, then the person's files, last one first.
        """
        if self.has_further_citations:
            self.has_further_citations = False
        elif self.sections:
            self.left_out += self._drop(excess)
        elif self.notice:
            self.notice = ""
        elif self.fronts:
            self.fronts.pop()
        else:
            return False
        return True

    def _drop(self, excess: int) -> int:
        """Drop the lines of least worth until about so many tokens are gone; return how many of them are missed."""
        missed = 0
        while excess > 0 and self.sections:
            worths = [
                (c.worth, s, i) for s, section in enumerate(self.sections) for i, c in enumerate(section.candidates)
            ]
            worth, at, place = min(worths)
            excess -= tokens_of(self.line(self.sections[at].candidates.pop(place)))
            missed += worth >= MISSED
            if not self.sections[at].candidates:
                del self.sections[at]
        return missed


def ordered(event: ContextEvent) -> tuple[ContextSource, ...]:
    """Return the sources of an event in the order of the block: what changes least comes first."""
    match event:
        case "compact":
            # What was told of learnings at the start is gone too; it fills what room the session itself leaves.
            return (*_of_session(), *sections(LearnedHere(least=0.05, most=0.3)))
        case "start":
            learned = LearnedHere()
            here = FailuresHere(learned)
            return (
                DiaryHere(), *sections(learned), PendingActions(learned), DecidedHere(learned), Fixed(here),
                Unfixed(here), WorkedOn(),
            )  # fmt: skip
        case "prompt":
            raise ValueError("a prompt has one source, see `memory.context`")
        case _:
            assert_never(event)


def _of_session() -> tuple[ContextSource, ...]:
    return (Requests(), EditedFiles(), StillFailing(), LastPlan())


def block_of(
    asked: ContextRequest, *, event: ContextEvent, budget: int, files: Sequence[PersonFile] = ()
) -> ContextBlock:
    """Return what the sources of an event say, except for a prompt. Raises what the reader raises.

    files: the person's own, at the top. A session that is compacted before it is ingested gets its start block again,
    which the compaction dropped too.
    """
    if event == "compact" and not any(source.candidates(asked).candidates for source in _of_session()):
        event = "start"
    leading = fronts(files, budget=budget)
    asked.said = said_in(leading)
    return build(asked, ordered(event), budget=budget, fronts=leading, notice=notice(asked))


def block_of_files(files: Sequence[PersonFile], *, budget: int) -> ContextBlock:
    """Return the block with only the person's own files, when nothing is stored."""
    return _fitted(_Page(fronts(files, budget=budget), [], 0, ""), budget, repo="")


def build(
    asked: ContextRequest,
    sources: Sequence[ContextSource],
    *,
    budget: int,
    fronts: Sequence[Front] = (),
    notice: str = "",
) -> ContextBlock:
    """Return the block of some sources, of at most `budget` tokens. The same store gives the same bytes.

    What does not fit is left out by worth, the least first; the order of what stays does not change. fronts: what leads
    it, fitted already. notice: a line of our own that ends it.
    """
    sections: list[_Section] = []
    left_out = 0
    for source in sources:
        found = source.candidates(asked)
        left_out += found.left_out
        if found.candidates:
            sections.append(_Section(source.heading, list(found.candidates)))
    repo = asked.folder.names[0] if asked.folder is not None and asked.folder.names else ""
    return _fitted(_Page(list(fronts), sections, left_out, notice), budget, repo=repo)


def _fitted(page: _Page, budget: int, *, repo: str) -> ContextBlock:
    while text := page.text():
        tokens = tokens_of(text)
        if tokens <= budget:
            return _block(page, text, tokens, repo)
        if not page.shorten(tokens - budget):
            break
    return ContextBlock(left_out=page.left_out)


def _block(page: _Page, text: str, tokens: int, repo: str) -> ContextBlock:
    chosen = page.candidates()
    cited = [c for one in chosen for c in (one.citation, one.also if page.has_further_citations else "") if c]
    cited += [event.citation for one in chosen for event in one.later]
    return ContextBlock(
        text,
        tuple(page.line(candidate) for candidate in chosen),
        page.left_out,
        tokens,
        tuple(dict.fromkeys(cited)),
        tuple(dict.fromkeys(name for candidate in chosen for name in candidate.identifiers)),
        repo,
        files=tuple(front.name for front in page.fronts),
    )


def _later_line(event: RelatedEvent) -> str:
    day = f", {day_of(event.ts)}" if event.ts is not None else ""
    return f"Said later about this: “{quotable(event.text, LATER_CHARS)}” [{event.citation}{day}]"


def room_of(budget: int) -> int:
    """Return for how many lines a budget has room, about."""
    return max(1, budget // LINE_TOKENS)


REASON_CHARS = 120


def notice(asked: ContextRequest) -> str:
    """Return the line about learning that is held up, "" for none. `insights.learnings.pause` decides what deserves
    a line.
    """
    reason = asked.reader.learning_note(TOLD_NOTE).decode("utf-8", "replace")
    return f"Recollect: learning is paused: {one_line(reason, REASON_CHARS)}; see `recollect doctor`." if reason else ""
