"""`memory.blame` and `.files`: a file's stored edits, and what led to its lines."""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from recollect.errors import UnknownName, UsageError
from recollect.ingest.known_names import repository_names
from recollect.ingest.open_home import OpenHome
from recollect.insights.subjects import ends_with_path
from recollect.memory.facets import HomeFacet
from recollect.model.events import Event
from recollect.model.insights.nodes import Binding, Decision, EditRef, Episode
from recollect.model.payloads import FileEdit, ToolCall, ToolResult
from recollect.model.text import paths_in
from recollect.recall.blame import (
    Blame,
    BlamedEdit,
    BoundDecision,
    RecordedEdit,
    blame,
    blame_lines,
    recorded_edits,
    whole_path,
)
from recollect.recall.context.lines import folder_of
from recollect.store.insights import NodeFilter
from recollect.store.reader import Reader
from recollect.store.rows import EventFilter
from recollect.units import size

MAX_TIMELINE = 20_000
"""Events of a session looked at to find what was asked in the turn of an edit."""
_NEAR = 40
"""Events after a call among which its result is looked for."""
_NO_RESULT = "no result of it is recorded"
_NEVER = -1
"""Time of an edit that has none: it comes last."""


class BlameQuestion(msgspec.Struct, frozen=True):
    """Which line to explain. path: relative to the repository's root if there is one, else absolute.

    root: the repository's top folder, "" for none. line: its text; None: the file's last edit. around: neighbouring
    lines. repos: names that the repository may have; empty: any.
    """

    path: str
    line: str | None = None
    around: tuple[str, ...] = ()
    repos: tuple[str, ...] = ()
    root: str = ""


class BlameAnswer(msgspec.Struct, frozen=True):
    """The session, turn and decision that led to a line. citation: `session_uid#seq` of the edit, "" without proof.

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


def answer_blame(
    home: OpenHome, question: BlameQuestion, calls: Callable[[str], Iterable[str]], *, notes: Sequence[str] = ()
) -> BlameAnswer:
    """Return which edit wrote a line, from what is stored and analysed. Ingests nothing.

    calls: returns the citations of what a query finds, newest first.
    """
    history = StoredEdits(home, question)
    answer = _told(home, history, blame(question.path, question.line, history, around=question.around), notes)
    if answer.blame.found is not None:
        return answer
    return _with_attempt(home, question, answer, calls(_attempts_query(question)), history.oldest)


def _told(home: OpenHome, history: StoredEdits, found: Blame, notes: Sequence[str] = ()) -> BlameAnswer:
    if found.found is None:
        return BlameAnswer(found, notes=tuple(notes))
    edit = found.found
    if _is_open(home.reader(), edit):
        notes = (*notes, "no result of this edit's call is recorded, so it may not have been made")
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


def _is_open(reader: Reader, edit: BlamedEdit) -> bool:
    """Return whether the call that made an edit has no recorded result, which may stand on either side of the edit."""
    near = list(reader.events(edit.session_uid, first_seq=max(0, edit.seq - _NEAR), limit=2 * _NEAR))
    call_id = next((getattr(e.payload, "call_id", "") for e in near if e.seq == edit.seq), "")
    of_call = {type(e.payload) for e in near if call_id and getattr(e.payload, "call_id", "") == call_id}
    return ToolCall in of_call and ToolResult not in of_call


def _attempts_query(question: BlameQuestion) -> str:
    """Return the query that finds calls that edit a file of this name, recorded as an edit or not."""
    repos = ",".join(f'"={repo}"' if " " in repo else f"={repo}" for repo in question.repos)
    return f'path:"{question.path}" tool:edit kind:tool_call' + (f" repo:{repos}" if repos else "")


def _with_attempt(
    home: OpenHome, question: BlameQuestion, answer: BlameAnswer, calls: Iterable[str], since: Event | None
) -> BlameAnswer:
    """Return the answer without proof, saying which call edits the file and what became of it, or which file is meant.

    since: the edit at which blame stopped; once edits are recorded, only a later call without a result matters.
    """
    is_recorded = answer.blame.looked_at > 0
    for cited in calls:
        uid, _, seq = cited.rpartition("#")
        near = list(home.reader().events(uid, first_seq=int(seq), limit=_NEAR))
        call = near[0].payload if near and near[0].seq == int(seq) else None
        if not isinstance(call, ToolCall) or not any(
            ends_with_path(path, question.path) for path in paths_in(call.arguments)
        ):
            continue
        became = _became(call, near[1:])
        if not is_recorded:
            reason = f"no proof: {cited} calls an edit of this file, but {became}"
        elif became == _NO_RESULT and (since is None or _newest_first(near[0]) < _newest_first(since)):
            reason = f"{answer.blame.reason}; {cited}, a later call without a recorded result, may have written it"
        else:
            continue
        return msgspec.structs.replace(answer, blame=msgspec.structs.replace(answer.blame, reason=reason))
    if is_recorded or Path(question.root, question.path).exists():
        return answer
    like = FilesFacet(home).nearest(question)
    return msgspec.structs.replace(answer, notes=(*answer.notes, *(f"did you mean {path}?" for path in like)))


def _became(call: ToolCall, following: Sequence[Event]) -> str:
    of_call = [e.payload for e in following if getattr(e.payload, "call_id", "") == call.call_id]
    result = next((one for one in of_call if isinstance(one, ToolResult)), None)
    if result is not None and (result.ok is False or result.exit_code):
        return "it failed"
    if (result is not None and (result.text or result.structured)) or any(isinstance(e, FileEdit) for e in of_call):
        return "its result does not say what it changed"
    return _NO_RESULT


def repository_of(path: Path, env: Mapping[str, str] | None = None) -> tuple[Path | None, tuple[str, ...]]:
    """Return the top folder of a file's repository and the names that sessions may use for it; (None, ()) for none.

    path: absolute. Only a git repository has a top folder; any other file is identified by its full path.
    """
    values = os.environ if env is None else env
    folder = folder_of(str(path.parent), values)
    if folder is None or not folder.is_repository:
        return None, ()
    top = Path(folder.path)
    if not path.is_relative_to(top):  # a linked worktree is called after its main one, but lies elsewhere
        top = next((parent for parent in path.parents if (parent / ".git").exists()), path.parent)
    return top, repository_names(str(path.parent), values)


MAX_FILE_BYTES = 1024 * 1024
"""Of a file whose lines are told one by one."""
_EDITS = 50
"""Of a file that is not there any more."""
_ROOTS = 200
"""Sessions that are asked where their repository lies, the newest."""


class EditedFile(msgspec.Struct, frozen=True):
    """A file that agents edited. path: relative to its repository's root, or as written if outside of one.

    episodes: groups of edits that changed it. last_at: UTC microseconds, 0 if unknown.
    """

    repo: str
    path: str
    episodes: int
    last_at: int


class FilesAnswer(msgspec.Struct, frozen=True):
    """Files that agents edited, most edited first. total: how many match."""

    files: tuple[EditedFile, ...]
    total: int


class BlamedLine(msgspec.Struct, frozen=True):
    """A line of a file, redacted. edit: the index of its edit in `FileBlame.edits`, None without proof."""

    text: str
    edit: int | None
    reason: str


class FileBlame(msgspec.Struct, frozen=True):
    """The session, turn and decision that led to each line of a file. edits: newest first.

    file: its path on this machine; "" if it no longer exists: then there are no lines, and edits are the newest
    recorded.
    """

    repo: str
    path: str
    file: str
    lines: tuple[BlamedLine, ...]
    edits: tuple[BlameAnswer, ...]
    notes: tuple[str, ...] = ()


class FilesFacet(HomeFacet):
    """The files that agents edited, and what led to their lines. Ingests nothing."""

    def edited(self, *, repo: str = "", words: Sequence[str] = (), limit: int | None = None) -> FilesAnswer:
        """Return the files of a repository, most edited first.

        repo: its exact name; "": all repositories. words: each must occur in the path, in any case. Raises UnknownName
        for a repository.
        """
        if not self._home.is_there():
            return FilesAnswer((), 0)
        self._home.known_names().filter(EventFilter(repos=_exactly(repo)))
        roots = self._roots(repo)
        found: dict[tuple[str, str], EditedFile] = {}
        for one in self._home.distilled().edited_paths(_exactly(repo)):
            path = _below(one.path, roots.get(one.repo, ()))
            known = found.get((one.repo, path))
            episodes, last_at = (known.episodes, known.last_at) if known is not None else (0, 0)
            made = EditedFile(one.repo, path, episodes + one.episodes, max(last_at, one.last_at))
            found[made.repo, made.path] = made
        wanted = [word.casefold() for word in words]
        named = [one for one in found.values() if all(word in one.path.casefold() for word in wanted)]
        named.sort(key=lambda one: (-one.episodes, -one.last_at, one.path))
        return FilesAnswer(tuple(named[:limit]), len(named))

    def nearest(self, question: BlameQuestion) -> list[str]:
        """Return the edited file whose path is most like one that is not there, if any is like it."""
        from difflib import get_close_matches

        names = {name.casefold() for name in question.repos}
        paths = [one.path for one in self.edited().files if not names or one.repo.casefold() in names]
        return get_close_matches(question.path, paths, 1)

    def blame(self, repo: str, path: str) -> FileBlame:
        """Return what led to each line of a file as it is on this machine now.

        path: as `edited` returns it. Raises UnknownName for a repository or a file that no agent edited there,
        UsageError for a file that is not text or too large.
        """
        if all(one.path != path for one in self.edited(repo=repo).files):
            raise UnknownName("edited file", path, hint="only files that agents edited can be explained")
        file = next((found for root in self._roots(repo).get(repo, ()) if (found := Path(root, path)).is_file()), None)
        if file is None:
            question = BlameQuestion(path, repos=(repo,) if repo else ())
            history = StoredEdits(self._home, question)
            edits = (_told(self._home, history, one) for one in recorded_edits(path, history, limit=_EDITS))
            return FileBlame(repo, path, "", (), tuple(edits))
        root, names = repository_of(file, self._home.env)
        told = file.relative_to(root).as_posix() if root is not None else file.as_posix()
        lines = self._home.redacted(_text_of(file)).splitlines()
        history = StoredEdits(self._home, BlameQuestion(told, repos=names, root=str(root) if root is not None else ""))
        blamed = blame_lines(told, lines, history)
        first: dict[_Place, Blame] = {}
        for one in blamed:
            if one.found is not None:
                first.setdefault(_place(one.found), one)
        places = sorted(first, key=lambda place: place[0], reverse=True)
        return FileBlame(
            repo,
            path,
            str(file),
            tuple(
                BlamedLine(text, places.index(_place(one.found)) if one.found is not None else None, one.reason)
                for text, one in zip(lines, blamed, strict=True)
            ),
            tuple(_told(self._home, history, first[place]) for place in places),
        )

    def _roots(self, repo: str) -> dict[str, tuple[str, ...]]:
        """Return where the sessions of repositories say that these lie, newest first, by name."""
        page, _total = self._home.reader().sessions(EventFilter(repos=_exactly(repo)), limit=_ROOTS)
        found: dict[str, dict[str, None]] = {}
        for session in page:
            root = (session.repo_root or session.cwd).replace("\\", "/").rstrip("/")
            if root:
                found.setdefault(session.repo, {})[root] = None
        return {name: tuple(roots) for name, roots in found.items()}


_Place = tuple[int, str, str, int]


def _place(found: BlamedEdit) -> _Place:
    return found.ts or 0, found.session_uid, found.event_id, found.part


def _exactly(repo: str) -> tuple[str, ...]:
    return (f"={repo}",) if repo else ()


def _below(path: str, roots: Sequence[str]) -> str:
    path = path.replace("\\", "/")
    return next((path[len(root) + 1 :] for root in roots if path.startswith(f"{root}/")), path)


def _text_of(file: Path) -> str:
    """Return the text of a file. Raises UsageError."""
    try:
        data = file.read_bytes() if file.stat().st_size <= MAX_FILE_BYTES else None
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    if data is None:
        raise UsageError(f"{file} is larger than {size(MAX_FILE_BYTES, binary=True)}", hint="ask for one line of it")
    if b"\0" in data:
        raise UsageError(f"{file} is not a text file")
    return data.decode("utf-8", "replace")


class StoredEdits:
    """Implements `recall.blame.EditHistory` on stored analyses; reads edits on demand.

    Omits an edit whose path is known to belong to another file of that name in the same repository.
    """

    def __init__(self, home: OpenHome, question: BlameQuestion) -> None:
        self._reader = home.reader()
        self._distilled = home.distilled()
        self._question = question
        self._episode_of: dict[tuple[str, str, int], Episode] = {}
        self._citations: dict[str, str] = {}
        self._decisions: dict[str, Sequence[BoundDecision]] = {}
        """By episode."""
        self.oldest: Event | None = None
        """The last edit that was asked for."""

    def edits(self, file_name: str) -> Iterator[RecordedEdit]:
        """Yield edits of files with this name, newest first."""
        names = {name.casefold() for name in self._question.repos}
        kept = (kept for kept in self._distilled.episodes_with(file_name) if not names or kept.repo.casefold() in names)
        episodes = [one.node for one in kept]
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
                recorded = heapq.heappop(ready)[2]
                self.oldest = recorded.event
                yield recorded

    def decisions(self, event: Event) -> Sequence[BoundDecision]:
        """Return the decisions bound to the edit's episode, most certain first."""
        episode = self._episode_of.get((event.session_uid, event.event_id, event.part))
        if episode is None:
            return ()
        if episode.id not in self._decisions:
            self._decisions[episode.id] = self._bound_to(episode)
        return self._decisions[episode.id]

    def _bound_to(self, episode: Episode) -> Sequence[BoundDecision]:
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
        """Return the citation of a decision that `decisions` returned."""
        return self._citations.get(decision_id, "")

    def _nodes(self, kind: str, session_uid: str) -> Iterator[object]:
        for kept in self._distilled.nodes(NodeFilter(kinds=(kind,), sessions=(session_uid,))):
            yield kept.node

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
        """Return whether an edit is surely of another path in its repository; of old names nothing is sure."""
        wanted = self._question.path
        path = whole_path(edit.path, episode.cwd)
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
        return bool(inside) and wanted not in (whole_path(edit.path, ""), *inside)


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
