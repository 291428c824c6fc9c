"""Stores what sessions gave: sightings, learnings, search entries and the batch to undo."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from recollect.insights.learnings.identity import ids_of_same_words, is_models, joined
from recollect.insights.learnings.settlement import Rules, next_expiry, related, settled
from recollect.insights.subjects import words_in
from recollect.model.insights.nodes import Decision
from recollect.model.learnings.entries import EntryDraft
from recollect.model.learnings.learnings import Learning
from recollect.model.learnings.notes import Batch
from recollect.store.jobs import Job
from recollect.store.learnings import BY_RULES, Known, Sighting

if TYPE_CHECKING:
    from recollect.config import Config
    from recollect.store.jobs import JobQueue
    from recollect.store.learnings import LearningStore


MAX_OF_REPO = 2_000
"""Learnings of one repository that are compared with each other, the newest."""
TITLE_CHARS = 120


class Keeping:
    """Writes for one run. Everything here happens inside a transaction of the store."""

    def __init__(self, store: LearningStore, rules: Callable[[], Rules], batch: Batch | None) -> None:
        """rules: called every time, for the clock. batch: receives new learnings, and is stored with the first one;
        None for what a person says.
        """
        self._store = store
        self._queue = store.queue
        self._rules = rules
        self._batch = batch
        self.added = 0
        """Learnings that were not there before."""
        self.changed = 0
        """Learnings that say or hold something else than before, new ones too."""

    @property
    def batch(self) -> str:
        """The id of the batch, "" as long as nothing is new."""
        return self._batch.id if self.added and self._batch is not None else ""

    def keep(self, put: Sequence[Sighting], remove: Sequence[Sighting]) -> None:
        """Keep what sessions say now, and compute what that changes."""
        if not put and not remove:
            return
        self._store.put_sightings(put, remove)
        self.settle({sighting.learning.id for sighting in (*put, *remove)})

    def as_by_rules(self, said: Sequence[Sighting], session_uid: str, repo: str) -> list[Sighting]:
        """Return what a model said of a session, by the name of what rules found there, or anywhere in the same words,
        where that says the same."""
        by_rules = [s.learning for s in self._store.sightings(session_uid) if s.origin == BY_RULES]
        ids = {name for sighting in said for name in ids_of_same_words(sighting.learning, repo)}
        elsewhere = [s.learning for known in self._store.known(ids) for s in known.sightings if s.origin == BY_RULES]
        return joined(said, (one for one in (*by_rules, *elsewhere) if one.state != "undone"))

    def taken_over(
        self, by_rules: Sequence[Learning], of_session: Sequence[Sighting], repo: str
    ) -> tuple[list[Sighting], list[Sighting]]:
        """Return what models said that rules found only now, by the rules' names, and as it was. of_session: what
        models said of the session. What a person said something of keeps its name."""
        ids = {name for one in by_rules for name in ids_of_same_words(one, repo)}
        free = {k.id: k for k in self._store.known({*ids, *(s.learning.id for s in of_session)}) if not k.verdicts}
        elsewhere = (s for name in ids for s in (free[name].sightings if name in free else ()) if is_models(s))
        said = {(s.learning.id, s.session_uid, s.origin): s for s in (*elsewhere, *of_session) if s.learning.id in free}
        now = joined(said.values(), (one for one in by_rules if one.state != "undone"))
        kept = {(s.learning.id, s.session_uid, s.origin) for s in now}
        return [s for s in now if s not in said.values()], [s for key, s in said.items() if key not in kept]

    def settle(self, ids: Collection[str]) -> None:
        """Recompute learnings from what is stored of them, and schedule the comparison of their repositories."""
        rules = self._rules()
        now = [(known, learning) for known in self._store.known(ids) if (learning := settled(known, rules)) is not None]
        self._save(now, rules, is_touched=True)
        for repo in sorted({learning.repo for known, learning in now if learning != known.kept}):
            want_related(self._queue, repo)

    def relate(self, repo: str) -> None:
        """Compare the learnings of a repository with each other, and end what is over."""
        rules = self._rules()
        known = self._store.known(self._store.of_repo(repo, limit=MAX_OF_REPO))
        alone = {k.id: (k, learning) for k in known if (learning := settled(k, rules)) is not None}
        learnings = [learning for _, learning in alone.values()]
        said = self._store.decisions(repo) if repo else []
        decided = overruled(learnings, said, self._store.outdone(repo)) if said else ()
        others = related(learnings, rules, is_free=lambda one: not alone[one.id][0].verdicts, overruled=decided)
        for learning in others:
            alone[learning.id] = (alone[learning.id][0], learning)
        self._save(alone.values(), rules)
        expires_at = next_expiry(learning for _, learning in alone.values())
        if expires_at is not None:
            want_related(self._queue, repo, due_at=expires_at)

    def _save(self, learnings: Iterable[tuple[Known, Learning]], rules: Rules, *, is_touched: bool = False) -> None:
        """is_touched: their evidence is other than before, even where that changes nothing else."""
        changed: list[Learning] = []
        for known, learning in learnings:
            kept = known.kept
            batch = (self._batch.id if self._batch is not None else "") if kept is None else kept.batch
            updated_at = 0 if kept is None else kept.updated_at
            now = msgspec.structs.replace(learning, batch=batch, updated_at=updated_at)
            if is_touched or kept is None or msgspec.structs.replace(now, evidence=()) != kept:
                changed.append(msgspec.structs.replace(now, updated_at=rules.now_us))
                self._count(known, learning)
        if not changed:
            return
        shown = [learning for learning in changed if learning.state != "quarantined"]
        held = [entry_uid(learning) for learning in changed if learning.state == "quarantined"]
        self._store.save(changed, map(entry_of, shown), held)

    def _count(self, known: Known, learning: Learning) -> None:
        self.changed += 1
        if known.kept is not None:
            return
        self.added += 1
        if self._batch is None:
            return
        counts = dict(self._batch.counts)
        counts[learning.kind] = counts.get(learning.kind, 0) + 1
        self._batch = msgspec.structs.replace(self._batch, counts=counts)
        self._store.add_batch(self._batch)


def rules_now(config: Config, now_us: Callable[[], int]) -> Rules:
    """Return what decides which learnings hold, by the configuration and the clock."""
    return Rules(now_us(), config.learning.action_days, config.learning.most_actions)


def want_related(queue: JobQueue, repo: str, *, due_at: int = 0) -> None:
    """Schedule the comparison of a repository's learnings with each other and with its decisions, at once or at
    `due_at`.
    """
    queue.want(Job(f"relate:{repo}", "relate", "", made_at=due_at, due_at=due_at))


def changes_of(before: Iterable[Sighting], now: Iterable[Sighting]) -> tuple[list[Sighting], list[Sighting]]:
    """Return which sightings are new or other than before, and which are gone."""
    old = {(s.learning.id, s.session_uid, s.origin): s for s in before}
    new = {(s.learning.id, s.session_uid, s.origin): s for s in now}
    put = [s for key, s in new.items() if old.get(key) != s]
    return put, [s for key, s in old.items() if key not in new]


def entry_uid(learning: Learning) -> str:
    """Return the uid under which a search finds a learning."""
    return f"{'action' if learning.kind == 'action' else 'learning'}:{learning.id}"


def entry_of(learning: Learning) -> EntryDraft:
    """Return what a search finds of a learning.

    It is confined with the agent that it holds for, else with the one that all its evidence is of.
    """
    agents = {e.session_uid.partition(":")[0] for e in learning.evidence}
    times = [e.ts for e in learning.evidence if e.ts is not None]
    return EntryDraft(
        uid=entry_uid(learning),
        kind="action" if learning.kind == "action" else "learning",
        title=learning.text[:TITLE_CHARS],
        texts=(learning.text,),
        agent=learning.agent or (agents.pop() if len(agents) == 1 else ""),
        repo=learning.repo,
        path=learning.path,
        session_uid=learning.evidence[-1].session_uid if learning.evidence else "",
        ts=max(times, default=learning.recorded_at or None),
        status=learning.status,
        state=learning.state,
    )


_ASKING = ("preference", "correction")
_REFUSING = re.compile(
    r"\W*(?:please |bitte )?(?:never|do not|don['’]?t|no|avoid|stop|nie|niemals|kein\w*)\b", re.IGNORECASE
)


def overruled(
    learnings: Iterable[Learning], decisions: Iterable[Decision], outdone: Collection[tuple[str, str]] = ()
) -> set[str]:
    """Return the ids of requests that the person later decided otherwise, for the same purpose or place.

    "Never use threads in the importer" and "let's use threads in the importer after all"; "we use requests for the HTTP
    client" and "replace requests with httpx for the HTTP client". Or whose decision does not hold any more. outdone:
    (older, newer) of decisions of which the newer one took the place of the older one.
    """
    from recollect.insights.decisions.relations import places_in, stance_of  # relating is seldom due after a sync

    human = [d for d in decisions if d.speaker == "human" and d.ts is not None]
    stances = [stance for d in human if d.status != "ranked" and (stance := stance_of(d)).places]
    by_person = {d.id for d in human}
    over = {older for older, newer in outdone if newer in by_person}
    ended = [({e.event_id for e in d.evidence}, _plain(d.statement)) for d in human if d.id in over]
    found: set[str] = set()
    for learning in learnings if stances or ended else ():
        said = max((e.ts for e in learning.evidence if e.ts is not None), default=None)
        if said is None or not _may_be_over(learning):
            continue
        words, places = set(words_in(learning.text)), places_in(learning.text)
        last, text = max(learning.evidence, key=lambda e: e.ts or 0).event_id, _plain(learning.text)
        if any(last in events and (text in statement or statement in text) for events, statement in ended):
            found.add(learning.id)
        is_ban = _REFUSING.match(learning.text) is not None
        for stance in stances:
            names = stance.for_ if is_ban else stance.against
            others = frozenset[str]() if is_ban else stance.for_
            if (
                said < (stance.decision.ts or 0)
                and not places.isdisjoint(stance.places)
                and any(words.issuperset(name.split()) for name in names)
                and not any(words.issuperset(name.split()) for name in others)
            ):
                found.add(learning.id)
    return found


def _may_be_over(learning: Learning) -> bool:
    """Return whether a person may take it back: not what was seen to work, nor what tools state."""
    if learning.kind in (*_ASKING, "action") or learning.status == "ranked":
        return True
    return learning.kind == "fact" and all(e.author == "user" for e in learning.evidence)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!")
