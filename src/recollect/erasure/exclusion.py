"""Keeps forgotten content and excluded repositories out during ingest.

A source of which everything is to be kept out is not written anywhere: it is remembered by keyed hashes of its name and
state, and read again when it changed. Of others the rows are never made, and the bytes go at the end of the pass.

An excluded repository is told by what is known of a session when it is first seen: where it worked, or the remote. A
session that was there before the repository was excluded stays until a person forgets it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from recollect.capture.discover import FoundSource
from recollect.capture.replay import is_rows
from recollect.erasure.copies import SpoolSelection, clear_spooled
from recollect.erasure.cuts import compact, make_promised, waiting_cuts
from recollect.erasure.forget import Opened, Reasons, forget, resume, selector_of
from recollect.erasure.records import runs
from recollect.erasure.reports import ForgetReport
from recollect.erasure.selection import is_excluded, is_of
from recollect.erasure.tombstones import Forgotten, session_stone, source_name, state_name
from recollect.model.ids import session_uid
from recollect.model.sessions import SessionPatch
from recollect.store.erasure.forget_rows import Tombstone
from recollect.store.erasure.select_rows import SelectionReader, StoredSession
from recollect.store.rows import SessionPart, SliceResult
from recollect.units import plural

_AT_ONCE_BYTES = 64_000_000
"""An archive up to this size is written again at the end of every pass that brought something that is forgotten."""
_WORTH_IT = 0.25
"""Of a larger one, packs of which so much is dead; the rest follows within a day."""
_LATEST_US = 86_400_000_000


class KeepingOut:
    """What one pass must not ingest. Made at its beginning, with the ingest lock held."""

    def __init__(self, opened: Opened, excluded: Sequence[str], *, now_us: int) -> None:
        """Finish what a crash left undone, and look at what is excluded now. Raises StoreError, ArchiveError."""
        self._opened = opened
        self._patterns = tuple(excluded)
        self._now_us = now_us
        forgetting = opened.writer.removing.forgetting
        resumed = resume(opened, at=now_us)
        is_finished = resumed is not None and resumed.state == "done"
        self.notes: list[str] = ["a forgetting that was interrupted was finished"] if is_finished else []
        wanted = msgspec.json.encode(self._patterns).decode() if self._patterns else ""
        if forgetting.kept_out.excluded() != wanted:
            with opened.writer.transaction():
                forgetting.kept_out.set_excluded(wanted)
        self._kept_out = forgetting.kept_out
        self._last_session = self._kept_out.last_session()
        self._key = opened.keys.forget_key
        self._forgotten = Forgotten.of(self._key, forgetting.tombstones())
        self._left_out = forgetting.kept_out.left_out()
        self.is_needed = bool(self._patterns) or not self._forgotten.is_empty
        """Whether there is anything that may have to be kept out."""
        self._kept: set[str] = set()
        self._out: dict[str, str] = {}
        self._held: set[str] = set()
        self._marks: dict[bytes, bytes] = {}
        self._spool = f"{opened.home.spool}{os.sep}"
        self._spooled: set[str] = set()
        self._spooled_records: dict[str, list[tuple[int, int]]] = {}
        self.mixed: set[str] = set()
        """Sources (by source_id) whose beginning was left out, and whose rest must not be: they are taken once more."""

    @property
    def forgotten(self) -> Forgotten:
        """What workers must not derive."""
        return self._forgotten

    def was_left_out(self, item: FoundSource) -> bool:
        """Return whether nothing of a source's present state is ingested, because all of it is excluded."""
        if not self._left_out:
            return False
        mark = item.document.mark.hex() if item.document is not None else _state(item.size, item.mtime_ns, item.inode)
        name = source_name(self._key, item.agent, item.place.role, item.path)
        return self._left_out.get(name) == state_name(self._key, mark)

    def take_again(self) -> None:
        """Archive a mixed source as it is; the end of the pass deletes its forgotten records."""
        self._kept |= self.mixed
        self._held -= self.mixed
        self.mixed = set()

    def sieve(self, result: SliceResult) -> SliceResult | None:
        """Return a slice without excluded content; None if nothing of its source is to be stored."""
        if not self.is_needed:
            return result
        source = result.source
        out = set(result.left_out)
        parts = []
        for part in result.sessions:
            if self._is_out(source.agent, part):
                out.update(event.record for event in part.events)
            else:
                parts.append(part)
        is_all_out = not parts and (len(out) == len(result.records) or bool(result.sessions))
        source_id = source.source_id
        if source_id in self._held or (is_all_out and out and self._is_unknown(source_id)):
            self._hold(result, is_all_out=is_all_out)
            return None
        if is_all_out and out:
            out = set(range(len(result.records)))
        if out:
            result = msgspec.structs.replace(result, sessions=parts, left_out=sorted(out))
        return result

    def left_out(self) -> list[str]:
        """Return a note if the pass read sessions of excluded repositories."""
        found = sum(kind == "excluded" for kind in self._out.values())
        return [f"not kept: {plural(found, 'session')} of excluded repositories"] if found else []

    def promise(self, result: SliceResult, *, at: int) -> None:
        """Promise to delete the bytes of what was left out. Inside the transaction that writes the slice."""
        source = result.source
        places = [result.records[ordinal] for ordinal in result.left_out]
        ranges = runs((place.index, place.offset, place.length) for place in places)
        self._opened.writer.removing.holes.wait(
            waiting_cuts(source.source_id, source.revision, ranges, "forgotten", at)
        )
        if source.path.startswith(self._spool):
            self._spooled_records.setdefault(source.path, []).extend((p.offset, p.length) for p in places)

    def finish(self, touched: set[str]) -> list[str]:
        """Let the bytes go that were promised, and what only turned out to be excluded; return notes.

        touched: uids of the sessions that the pass brought something of. The index must be closed.
        Raises StoreError, ArchiveError, IndexUnavailable.
        """
        writer, archive = self._opened.writer, self._opened.archive
        if self._out or self._marks:
            self._remember()
        if self._spooled or self._spooled_records:
            clear_spooled(self._opened.home.spool, SpoolSelection(paths=self._spooled, records=self._spooled_records))
        notes = list(self.notes)
        late = self._late({uid for uid in touched if not self._was_there(uid)}) if self.is_needed else {}
        if late:
            self._forget(late)
            notes.append(f"not kept: {plural(len(late), 'session')} of excluded repositories, or of forgotten sessions")
        if writer.removing.holes.waiting():
            make_promised(archive, writer, skip_damaged=True)
            self._give_back(first=True)
        else:
            self._give_back(first=False)
        return notes

    def _give_back(self, *, first: bool) -> None:
        """Rewrite packs that hold fresh cuts: at once if they are small, else once a day.

        first: something was cut in this pass. Waiting bytes are sealed, and nothing names them.
        """
        forgetting, archive = self._opened.writer.removing.forgetting, self._opened.archive
        since = forgetting.kept_out.dead_since()
        if not first and since is None:
            return
        is_now = archive.size_bytes() <= _AT_ONCE_BYTES or (since is not None and self._now_us - since >= _LATEST_US)
        if first or is_now:
            compact(archive, self._opened.writer, least_dead_share=0.0 if is_now else _WORTH_IT)
        wanted = None if is_now else since if since is not None else self._now_us
        if wanted != since:
            with self._opened.writer.transaction():
                forgetting.kept_out.set_dead_since(wanted)

    def _is_unknown(self, source_id: str) -> bool:
        return source_id not in self._kept and not self._kept_out.has_source(source_id)

    def _was_there(self, uid: str) -> bool:
        return self._kept_out.was_there(uid, self._last_session)

    def _hold(self, result: SliceResult, *, is_all_out: bool) -> None:
        """Remember a slice of which nothing is stored."""
        source = result.source
        self._held.add(source.source_id)
        if not is_all_out and result.records:
            self.mixed.add(source.source_id)
        if result.is_last and source.source_id not in self.mixed:
            mark = (
                source.tail_sha.hex()
                if is_rows(source.container)
                else _state(source.size, source.mtime_ns, source.inode)
            )
            self._marks[source_name(self._key, source.agent, source.role, source.path)] = state_name(self._key, mark)
            if source.path.startswith(self._spool):
                self._spooled.add(source.path)

    def _is_out(self, agent: str, part: SessionPart) -> bool:
        uid = session_uid(agent, part.native_id)
        if uid in self._out or self._forgotten.has_session(uid):
            return True
        kind = self._reason(agent, part.patch) if not self._was_there(uid) else ""
        if kind:
            self._out[uid] = kind
        return bool(kind)

    def _reason(self, agent: str, patch: SessionPatch) -> str:
        """Return why a new session is kept out, as the kind of its tombstone; "" when it is not."""
        if patch.parent_session:
            parent = session_uid(agent, patch.parent_session)
            if self._forgotten.has_session(parent) or parent in self._out:
                return self._out.get(parent, "session")
        cwd = patch.cwd_first or patch.cwd
        if is_excluded(self._patterns, repo_root=patch.repo_root, git_remote=patch.git_remote, cwd=cwd):
            return "excluded"
        return ""

    def _remember(self) -> None:
        writer = self._opened.writer
        stones = [Tombstone(session_stone(self._key, uid), kind, self._now_us) for uid, kind in self._out.items()]
        with writer.transaction():
            writer.removing.forgetting.add_tombstones(stones)
            writer.removing.forgetting.kept_out.set_left_out(self._marks.items())

    def _late(self, new: set[str]) -> dict[str, str]:
        """Return the new sessions that turned out to be kept out only when all of them was known, and why."""
        found: dict[str, str] = {}
        if not new:
            return found
        with SelectionReader(self._opened.home.folder) as stored:
            for s in stored.sessions():
                if s.uid in new and (kind := self._late_reason(s)):
                    found[s.uid] = kind
        return found

    def _late_reason(self, s: StoredSession) -> str:
        if is_of(self._patterns, repo=s.repo, repo_root=s.repo_root, cwd=s.cwd):
            return "excluded"
        for above in {s.parent_uid, s.root_uid} - {"", s.uid}:
            if self._forgotten.has_session(above) or above in self._out:
                return self._out.get(above, "session")
        return ""

    def _forget(self, late: dict[str, str]) -> None:
        for kind in sorted(set(late.values())):
            uids = {uid for uid, why in late.items() if why == kind}
            with SelectionReader(self._opened.home.folder) as stored:
                chosen = selector_of(self._opened, stored).of_tombstones(uids.__contains__, lambda _uid, _fact: False)
                reasons = Reasons(self._now_us, kind=kind, is_thorough=False)
                forget(self._opened, stored, chosen, reasons, ForgetReport("done"), tell=lambda *_: None)


def _state(size: int, mtime_ns: int, inode: int) -> str:
    return f"{size}:{mtime_ns}:{inode}"
