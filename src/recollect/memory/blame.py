"""`memory.blame`: the edits of a file as the store keeps them, and the answer with its session and turn."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recollect.ingest.known_names import repository_names
from recollect.model.events import Event
from recollect.model.insights.nodes import Binding, Decision, EditRef, Episode
from recollect.recall.blame import Blame, BoundDecision, RecordedEdit, blame
from recollect.recall.context.lines import folder_of
from recollect.store.insights import NodeFilter
from recollect.store.rows import EventFilter

if TYPE_CHECKING:
    from recollect.ingest.home import OpenHome
    from recollect.store.insights import KeptNode
    from recollect.store.reader import Reader

MAX_TIMELINE = 20_000
"""Events of a session looked at to find what was asked in the turn of an edit."""
_NEVER = -1
"""Time of an edit that has none: it comes last."""


class BlameQuestion(msgspec.Struct, frozen=True):
    """Whose line is asked for. path: relative to the repository's root where there is one, else absolute.

    root: the repository's top folder now, "" for none. line: its text, None: the last edit of the file. around: the
    lines beside it. repos: what its repository may be called, empty: any.
    """

    path: str
    line: str | None = None
    around: tuple[str, ...] = ()
    repos: tuple[str, ...] = ()
    root: str = ""


class BlameAnswer(msgspec.Struct, frozen=True):
    """Which session, turn and decision led to a line. citation: `session_uid#seq` of the edit, "" without proof.

    asked: the first words of the turn's human message, and its citation. title, agent, repo: of the session.
    """

    blame: Blame
    citation: str = ""
    agent: str = ""
    repo: str = ""
    title: str = ""
    asked: str = ""
    asked_citation: str = ""
    decision_citations: tuple[str, ...] = ()
    """Of `blame.found.decisions`, in that order."""
    notes: tuple[str, ...] = ()


def answer_blame(home: OpenHome, question: BlameQuestion, *, notes: Sequence[str] = ()) -> BlameAnswer:
    """Return which edit put a line there, from what is stored and analysed. Takes nothing in."""
    history = StoredEdits(home, question)
    found = blame(question.path, question.line, history, around=question.around)
    if found.found is None:
        return BlameAnswer(found, notes=tuple(notes))
    edit = found.found
    session = home.reader().session(edit.session_uid)
    asked, place = _asked(home.reader(), edit.session_uid, edit.turn_index, edit.seq)
    return BlameAnswer(
        blame=found,
        citation=f"{edit.session_uid}#{edit.seq}",
        agent=session.agent if session is not None else "",
        repo=session.repo if session is not None else "",
        title=session.title if session is not None else "",
        asked=asked,
        asked_citation=place,
        decision_citations=tuple(history.cited(bound.id) for bound in edit.decisions),
        notes=tuple(notes),
    )


def repository_of(path: Path, env: Mapping[str, str] | None = None) -> tuple[Path | None, tuple[str, ...]]:
    """Return the top folder of the repository that a file is in, and what sessions may call it; (None, ()) for none.

    path: absolute. Only a repository of git has a top: a file elsewhere is told by its whole path.
    """
    values = os.environ if env is None else env
    folder = folder_of(str(path.parent), values)
    if folder is None or not folder.is_repository:
        return None, ()
    top = Path(folder.path)
    if not path.is_relative_to(top):  # a linked worktree is called after its main one, but lies elsewhere
        top = next((parent for parent in path.parents if (parent / ".git").exists()), path.parent)
    return top, repository_names(str(path.parent), values)


class StoredEdits:
    """Implements `recall.blame.EditHistory` on what was distilled; the edits themselves are read as they are asked for.

    An edit whose path is known to be another file of that name in the same repository is left out.
    """

    def __init__(self, home: OpenHome, question: BlameQuestion) -> None:
        self._reader = home.reader()
        self._distilled = home.distilled()
        self._question = question
        self._episode_of: dict[tuple[str, str, int], Episode] = {}
        self._citations: dict[str, str] = {}

    def edits(self, file_name: str) -> Iterator[RecordedEdit]:
        """Yield edits of files so called, newest first."""
        episodes = [kept.node for kept in self._distilled.episodes_with(file_name) if self._is_wanted(kept)]
        waiting = sorted((e for e in episodes if isinstance(e, Episode)), key=lambda e: (_end(e), e.id))
        ready: list[tuple[tuple[int, str, int], int, RecordedEdit]] = []
        count = 0
        while waiting or ready:
            # An episode is opened once nothing that is open is sure to be newer than all of it.
            while waiting and (not ready or -ready[0][0][0] <= _end(waiting[-1])):
                for recorded in self._of_episode(waiting.pop(), file_name):
                    count += 1
                    heapq.heappush(ready, (_newest_first(recorded.event), count, recorded))
            if ready:
                yield heapq.heappop(ready)[2]

    def decisions(self, event: Event) -> Sequence[BoundDecision]:
        """Return the decisions that the edit's episode is bound to, the most certain first."""
        episode = self._episode_of.get((event.session_uid, event.event_id, event.part))
        if episode is None:
            return ()
        bindings = [b for b in self._nodes("binding", episode.session_uid) if isinstance(b, Binding)]
        certain: dict[str, Binding] = {}
        for binding in bindings:
            known = certain.get(binding.source)
            if binding.episode == episode.id and (known is None or binding.confidence > known.confidence):
                certain[binding.source] = binding
        found = []
        for uid in sorted({binding.used_session or binding.session_uid for binding in certain.values()}):
            for node in self._nodes("decision", uid):
                if isinstance(node, Decision) and node.id in certain and not node.is_undone:
                    where = node.evidence[0] if node.evidence else None
                    self._citations[node.id] = f"{where.session_uid}#{where.seq}" if where is not None else uid
                    sure = certain[node.id].confidence
                    options = (tuple(node.chosen), tuple(node.rejected))
                    found.append(BoundDecision(node.id, node.statement, node.polarity, sure, *options, node.status))
        return sorted(found, key=lambda bound: (bound.status == "ranked", -bound.confidence, bound.id))

    def cited(self, decision_id: str) -> str:
        """Return where a decision that `decisions` gave stands."""
        return self._citations.get(decision_id, "")

    def _nodes(self, kind: str, session_uid: str) -> Iterator[object]:
        for kept in self._distilled.nodes(NodeFilter(kinds=(kind,), sessions=(session_uid,))):
            yield kept.node

    def _is_wanted(self, kept: KeptNode) -> bool:
        names = {name.casefold() for name in self._question.repos}
        return not names or kept.repo.casefold() in names

    def _of_episode(self, episode: Episode, file_name: str) -> Iterator[RecordedEdit]:
        seen: set[tuple[str, int]] = set()
        for edit in episode.edits:
            place = (edit.evidence.event_id, edit.evidence.part)
            if place in seen or not (edit.operation == "rename" or _name(edit.path) == file_name):
                continue
            if self._is_another_file(edit, episode):
                continue
            seen.add(place)
            event = self._event(edit)
            if event is not None:
                self._episode_of[event.session_uid, *place] = episode
                yield RecordedEdit(event, episode.cwd)

    def _event(self, edit: EditRef) -> Event | None:
        """Return the whole event of an edit; None where it is no longer stored."""
        wanted = edit.evidence
        for event in self._reader.events(wanted.session_uid, first_seq=wanted.seq, limit=4):
            if (event.event_id, event.part) == (wanted.event_id, wanted.part):
                return event
        return None

    def _is_another_file(self, edit: EditRef, episode: Episode) -> bool:
        """Tell whether an edit is surely of another path in its repository; of old names nothing is sure."""
        wanted = self._question.path
        path = edit.path.replace("\\", "/")
        if edit.operation == "rename" or wanted.startswith("/") or _name(path) != _name(wanted):
            return False
        for root in (self._question.root, episode.repo_root):
            folder = root.replace("\\", "/").rstrip("/")
            if folder and path.startswith(f"{folder}/"):
                return path[len(folder) + 1 :] != wanted
        # A repository that was moved since: what stands behind its name is the path in it.
        names = {name.casefold() for name in self._question.repos}
        parts = path.split("/")
        inside = ["/".join(parts[i + 1 :]) for i, part in enumerate(parts) if part.casefold() in names]
        return bool(inside) and wanted not in inside


def _newest_first(event: Event) -> tuple[int, str, int]:
    ts = event.ts if event.ts is not None else _NEVER
    return -ts, event.session_uid, -event.seq


def _end(episode: Episode) -> int:
    end = episode.ended_at if episode.ended_at is not None else episode.ts
    return end if end is not None else _NEVER


def _name(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _asked(reader: Reader, uid: str, turn: int, seq: int) -> tuple[str, str]:
    """Return the gist of the human message that began a turn, and its citation; empty where it is not to be found."""
    rows, _ = reader.timeline(EventFilter(sessions=(uid,)), limit=min(seq + 1, MAX_TIMELINE))
    said = [row for row in rows if row.kind == "user_message" and row.turn_index == turn and row.seq <= seq]
    return (said[0].summary, f"{uid}#{said[0].seq}") if said else ("", "")
