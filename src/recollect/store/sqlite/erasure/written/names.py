"""What was learned, noted, documented and decided, each by a name: `fact:ID`, `tag:NAME` and the like.

One look at it serves all who ask what is meant: the dry run of a forgetting, the forgetting, and a restore that must
not bring back what was forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.model.learnings.learnings import LearningEvidence
from recollect.model.learnings.notes import DiaryEntry, Fact
from recollect.store.entries import told_text
from recollect.store.sqlite.connection import store_errors
from recollect.store.sqlite.documents.removal import place_of
from recollect.store.sqlite.entries.reader import entries_in
from recollect.store.sqlite.learnings.codec import decode_learning, decode_verdict

IsMeant = Callable[[str], bool]
"""Tells of a text whether it has to go."""
COUNTED = ("learning", "fact", "diary", "tag", "document", "decision")
"""Kinds of names that are told to a person; the others (`held`, `firing`) are the memory's own notes."""
_fact = msgspec.json.Decoder(Fact).decode
_diary = msgspec.json.Decoder(DiaryEntry).decode
_evidence = msgspec.json.Decoder(LearningEvidence).decode


class Told(NamedTuple):
    """Something that was written, or a part of it: a name may come several times.

    mark: what its mark is made of when it is forgotten, "" for what another part of the same name has. at: UTC
    microseconds of when it was told last, 0 where it is kept out by its mark whenever it was told. session: of a
    document, the one that it is another record of.
    """

    name: str
    texts: tuple[str, ...]
    repo: str = ""
    mark: str = ""
    at: int = 0
    session: str = ""


class Written(msgspec.Struct, frozen=True):
    """What is meant: the mark of each, "" for none, by name."""

    marks: Mapping[str, str]

    @property
    def count(self) -> int:
        """How much of it is told to a person."""
        return sum(name.partition(":")[0] in COUNTED for name in self.marks)


def saying(db: apsw.Connection, is_meant: IsMeant) -> Written:
    """Return what says a text, in any of its words. Raises StoreCorrupt."""
    return _chosen(db, lambda told: any(map(is_meant, told.texts)))


def of_repos(db: apsw.Connection, repos: Collection[str]) -> Written:
    """Return what is of repositories, by name. Raises StoreCorrupt."""
    wanted = frozenset(repos) - {""}
    return _chosen(db, lambda told: told.repo in wanted) if wanted else Written({})


def recording(db: apsw.Connection, sessions: Collection[str]) -> Written:
    """Return the documents that are other records of sessions, by uid. Raises StoreCorrupt."""
    wanted = frozenset(sessions) - {""}
    return _chosen(db, lambda told: told.session in wanted) if wanted and has_records(db, wanted) else Written({})


def has_records(db: apsw.Connection, sessions: Collection[str]) -> bool:
    """Tell whether a document is another record of one of some sessions."""
    rows: Iterable[Any] = db.execute("SELECT DISTINCT session_uid FROM entry WHERE kind = 'document'")
    return any(uid in sessions for (uid,) in rows)


def kept_out(db: apsw.Connection, mark_of: Callable[[str], bytes]) -> Written:
    """Return what is there though it was forgotten, and was not told anew since. Raises StoreCorrupt."""
    with store_errors():
        rows: list[Any] = db.execute("SELECT id, at FROM document_kept_out").fetchall()
    stones: dict[bytes, int] = dict(rows)
    if not stones:
        return Written({})
    return _chosen(db, lambda told: bool(told.mark) and told.at <= stones.get(mark_of(told.mark), -1))


def mark_of_fact(fact_id: str, source: str, reference: str) -> str:
    """Return what the mark of a fact is made of: of an imported one its name where it came from."""
    return reference if source == "import" and reference else f"fact:{fact_id}"


def _chosen(db: apsw.Connection, is_chosen: Callable[[Told], bool]) -> Written:
    names: set[str] = set()
    marks: dict[str, str] = {}
    with store_errors():
        for told in _all(db):
            if told.mark:
                marks[told.name] = told.mark
            if is_chosen(told):
                names.add(told.name)
    return Written({name: marks.get(name, "") for name in sorted(names)})


def _all(db: apsw.Connection) -> Iterator[Told]:
    yield from _learnings(db)
    for text, recorded_at in _rows(db, "SELECT json, recorded_at FROM fact"):
        fact = _fact(text)
        mark = mark_of_fact(fact.id, fact.source, fact.reference)
        said = (fact.subject, fact.predicate, fact.object, fact.reference)
        yield Told(f"fact:{fact.id}", said, fact.repo, mark, recorded_at)
    for (text,) in _rows(db, "SELECT json FROM diary"):
        entry = _diary(text)
        texts = (entry.text, entry.topic, *entry.decided, *entry.discovered, *entry.left_pending)
        yield Told(f"diary:{entry.id}", texts, entry.repo, f"diary:{entry.id}", entry.written_at)
    for name, tagged_at in _rows(db, "SELECT name, max(tagged_at) FROM tag GROUP BY name"):
        yield Told(f"tag:{name}", (name,), "", f"tag:{name}", tagged_at)
    for node_id, text, repo, added_at in _rows(db, "SELECT id, json, repo, added_at FROM added_decision"):
        yield Told(f"decision:{node_id}", (text,), repo, f"decision:{node_id}", added_at)
    for at, nonce, repo, *texts in _rows(db, "SELECT at, nonce, repo, identifiers, note FROM firing"):
        yield Told(f"firing:{at}:{nonce}", tuple(texts), repo, f"firing:{at}:{nonce}", at)
    for one in entries_in(db):
        kind, _, rest = one.entry.uid.partition(":")
        name = f"learning:{rest}" if kind == "action" else one.entry.uid
        texts = (one.entry.title, one.entry.path, *(told_text(one.entry, part) for part in one.parts))
        place = place_of(db, name)
        mark = "" if place is None else f"{place[1]}/{place[2]}" if place[1] else name
        session = one.entry.session_uid if kind == "document" else ""
        yield Told(name, texts, one.entry.repo, mark, session=session)


def _learnings(db: apsw.Connection) -> Iterator[Told]:
    for name, text, repo, updated_at in _rows(db, "SELECT id, json, repo, updated_at FROM learning"):
        yield Told(f"learning:{name}", (decode_learning(text).text,), repo, f"learning:{name}", updated_at)
    for name, text in _rows(db, "SELECT learning, json FROM learning_sighting"):
        learning = decode_learning(text)
        yield Told(f"learning:{name}", (learning.text, *(evidence.quote for evidence in learning.evidence)))
    for name, text in _rows(db, "SELECT learning, json FROM learning_evidence"):
        yield Told(f"learning:{name}", (_evidence(text).quote,))
    for name, text in _rows(db, "SELECT learning, json FROM verdict"):
        verdict = decode_verdict(text)
        said = () if verdict.learning is None else (verdict.learning.text,)
        yield Told(f"learning:{name}", (verdict.reason, *said))
    for key, text, at in _rows(db, "SELECT key, text, at FROM quarantine"):
        yield Told(f"held:{key}", (text,), "", f"held:{key}", at)


def _rows(db: apsw.Connection, statement: str) -> Iterable[Any]:
    yield from db.execute(statement)
