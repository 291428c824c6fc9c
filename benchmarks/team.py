"""A team's server with a real PostgreSQL of its own, all on this machine: pushes of many machines, questions of many
people, how well questions over real transcripts are answered beside the local memory, and a growing history.

Everything goes through `recollect team serve` over HTTP, but for `growth`, where PostgreSQL multiplies what is there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any, NamedTuple

import msgspec
import psycopg
from psycopg.conninfo import make_conninfo

from benchmarks import recall
from benchmarks.support import corpora
from benchmarks.support.measuring import spread
from benchmarks.support.places import Places, load_script, parser, places
from benchmarks.support.results import Section, publish
from recollect import Memory
from recollect.endpoints.team_client import TeamClient
from recollect.model.team_messages import LEVELS, JoinRequest, SharedEvent, SharedSession, TeamQuestion  # fmt: skip
from recollect.recall.answers import TeamAnswer
from recollect.sharing.content import LocalSession, SharedMeaning, shared_events, shared_session
from recollect.sharing.push import Outbox
from recollect.store.change_feed import TextFeed
from recollect.store.home import Store
from recollect.store.row_keys import ENTRY_BASE, SEQ_BITS
from recollect.store.rows import EventFilter
from recollect.team.database import Administration, AdministratorDatabase, make_team
from scripts.local_postgres import LocalPostgres

PARTS = ("quality", "machines", "asking", "growth")
AT_ONCE = 8
"""Machines that push at the same time."""
PEOPLE = 50
QUESTIONS = 10
"""Of each person."""


FILTERS = ("agents", "kinds", "not_kinds", "tools", "not_tools", "sessions", "repos", "branches", "paths")


class Team:
    """A database with one team, and its server in a process of its own."""

    def __init__(self, postgres: LocalPostgres) -> None:
        self.name = f"bench_{secrets.token_hex(4)}"
        with psycopg.connect(postgres.url, autocommit=True) as db:
            db.execute(f"CREATE DATABASE {self.name}")
        self.admin_url = make_conninfo(postgres.url, dbname=self.name)
        self.database = AdministratorDatabase(self.admin_url)
        server_url = make_team(self.database, "bench", "owner", is_new_password=True).server_url
        self.administration = Administration(self.database, "bench")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "recollect", "team", "serve", "--port", "0", "--json"],
            env={**os.environ, "RECOLLECT_TEAM_DATABASE": server_url}, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self.url: str = json.loads(self._process.stdout.readline())["url"]

    def join(self, person: str, machine: str) -> TeamClient:
        """Return a client of a machine that has joined."""
        code = self.administration.invite(person, "member").code
        with TeamClient(self.url) as client:
            return TeamClient(self.url, client.join(JoinRequest(code, machine)).token)

    def value(self, statement: str) -> Any:
        """Ask the database as its owner for one value."""
        found = self.database.connection.execute(statement).fetchone()
        return found[0] if found is not None else None

    def close(self) -> None:
        """End the server and drop the database."""
        self._process.terminate()
        self._process.wait(60)
        self.database.connection.close()


@contextmanager
def team_of(postgres: LocalPostgres) -> Iterator[Team]:
    """Give a team until the end."""
    made = Team(postgres)
    try:
        yield made
    finally:
        made.close()


class Shared(NamedTuple):
    """A session as it is sent, whole."""

    row: SharedSession
    events: list[SharedEvent]


def shared_of(memory: Memory, *, most: int | None = None) -> Iterator[Shared]:
    """Yield the sessions of a memory, at most so many, as if all were shared; those of no repository too."""
    meaning = SharedMeaning(memory)
    with Store.open(memory.home, memory.config.privacy) as store:
        feed: TextFeed = store.feed
        numbers = sorted(n for n in store.reader.session_numbers(EventFilter()) if n < ENTRY_BASE)
        for number, key in store.reader.session_keys(numbers[:most]).items():
            one = LocalSession(number, key.session_uid, key.session_uid, LEVELS[-1], 1)
            row = shared_session(memory, store.reader, one)
            if row is not None:
                base = number << SEQ_BITS
                events = list(shared_events(feed.events_between(base, base + (1 << SEQ_BITS) - 1), meaning))
                yield Shared(msgspec.structs.replace(row, repo=row.repo or "none"), events)


class _TimedClient(TeamClient):
    """Notes how long each batch took, as its machine saw it."""

    def __init__(self, client: TeamClient, taken: list[float]) -> None:
        super().__init__(client._url, client._token)
        self._taken = taken

    def send(self, body: bytes) -> Any:
        started = time.perf_counter()
        answer = super().send(body)
        self._taken.append((time.perf_counter() - started) * 1000)
        return answer


def send(client: TeamClient, sessions: Sequence[Shared], model: str) -> Outbox:
    """Push sessions whole, as the first push of a machine."""
    outbox = Outbox(client, None, 0, "bench", model)
    outbox.begin({"none": "full"}, (), (), restarts=True, position=0)
    for one in sessions:
        outbox.open(one.row)
        outbox.put(one.row.session_uid, 0, (1 << SEQ_BITS) - 1, one.events)
        outbox.close()
    outbox.flush()
    return outbox


def quality(at: Places, team: Team, *, is_kept: bool) -> Section:
    """Ask the questions of the benchmark `recall` of the team and of the local memory."""
    questions = recall.questions_of(at)
    corpus = corpora.real_of_every_agent(at)
    events = recall.floor_events(load_script(at.shared / "bench" / "recall_floor.py"), at)
    with recall.take_in(at, corpus, is_kept=is_kept) as memory:
        memory.embedding.run(with_passages=False)
        meaning = SharedMeaning(memory)
        client = team.join("ada", "analytical")
        started = time.perf_counter()
        outbox = send(client, list(shared_of(memory)), meaning.model)
        pushed_s = time.perf_counter() - started
        judge = recall.Judge(memory, corpus, events)

        def ask_team(query: str, limit: int, *, has_meaning: bool = True) -> TeamAnswer:
            vectors = meaning.of_texts([query]) if has_meaning else ()
            model, vector = (meaning.model, vectors[0]) if vectors else ("", b"")
            return client.ask("search", TeamQuestion(query, min(limit, 200), 0, model, vector), TeamAnswer)

        systems: dict[str, Callable[[str, int], Any]] = {
            "local": lambda query, limit: memory.search(query, limit=limit, sync=False),
            "team": ask_team,
            "team, words only": lambda query, limit: ask_team(query, limit, has_meaning=False),
        }
        measured = {}
        for name, search in systems.items():
            print(f"team: {name}", file=sys.stderr)
            asked = recall.ask(search, judge, questions)
            rows = [(a.type, a.session_rank, a.event_rank) for a in asked if a.type != "negative"]
            measured[name] = {"types": recall.by_type(rows), "ms": spread([a.took_ms for a in asked])}
    lines = [f"{len(questions)} questions of `recall`, of {outbox.events:,} events pushed in {pushed_s:.0f} s.", ""]
    lines += ["| | session hit@1 | hit@5 | hit@10 | event hit@1 | hit@5 | hit@10 | p50 ms |", "|---|" + "--:|" * 7]
    for name, one in measured.items():
        every = one["types"]["all"]
        cells = [f"{every[by][key]:.2f}" for by in ("session", "event") for key in ("hit@1", "hit@5", "hit@10")]
        lines.append(f"| {name} | {' | '.join(cells)} | {one['ms']['p50_ms']:.0f} |")
    return Section("team/quality", "Team: questions beside the local memory", measured, "\n".join(lines))


def machines(team: Team, pool: Sequence[Shared], model: str, *, count: int) -> Section:
    """Have machines push a day each: sessions of the pool under names of their own, vectors moved a little."""
    clients = [team.join(f"person {number % 200}", f"machine {number}") for number in range(count)]
    taken: list[float] = []
    sent = {"events": 0, "bytes": 0, "sessions": 0}
    lock = threading.Lock()

    def push(number: int) -> None:
        chance = random.Random(number)
        day = [_as_ones_own(one, number, chance) for one in chance.sample(pool, min(3, len(pool)))]
        with clients[number]:
            done = send(_TimedClient(clients[number], taken), day, model)
        with lock:
            sent["events"] += done.events
            sent["bytes"] += done.sent_bytes
            sent["sessions"] += len(day)

    started = time.perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(push, range(count)))
    seconds = time.perf_counter() - started
    stored = team.value("SELECT count(*) FROM recollect.event")
    whole = team.value("SELECT count(*) FROM recollect.session WHERE is_whole")
    size = team.value("SELECT pg_database_size(current_database())")
    figures = {
        "machines": count, **sent, "batches": len(taken), "ms": spread(taken), "seconds": round(seconds, 1),
        "stored_events": stored, "whole_sessions": whole, "database_bytes": size,
    }  # fmt: skip
    lost = "nothing is lost" if (stored, whole) == (sent["events"], sent["sessions"]) else f"LOST: {stored}, {whole}"
    text = (
        f"{count:,} machines pushed {sent['sessions']:,} sessions with {sent['events']:,} events "
        f"({sent['bytes'] / 1e6:.1f} MB compressed) in {seconds:.0f} s, {AT_ONCE} at once; {lost}. "
        f"A batch took p50 {figures['ms']['p50_ms']:.0f} ms, p95 {figures['ms']['p95_ms']:.0f} ms. "
        f"The database has {size / 1e6:.0f} MB, {size / max(1, stored):.0f} bytes an event."
    )
    return Section("team/machines", "Team: machines push their day", figures, text)


def _as_ones_own(one: Shared, number: int, chance: random.Random) -> Shared:
    row = msgspec.structs.replace(one.row, session_uid=f"{one.row.session_uid}-{number}")
    events = [
        msgspec.structs.replace(event, vectors=tuple(_moved(vector, chance) for vector in event.vectors))
        for event in one.events
    ]
    return Shared(row, events)


def _moved(vector: bytes, chance: random.Random) -> bytes:
    moved = bytearray(vector)
    for place in chance.sample(range(len(moved)), 32):
        moved[place] = chance.randrange(-40, 41) & 0xFF
    return bytes(moved)


def asking(team: Team, meaning: SharedMeaning, queries: Sequence[str]) -> Section:
    """Have people ask at once, each one question after the other."""
    clients = [team.join(f"asker {number}", "desk") for number in range(PEOPLE)]
    taken: list[float] = []

    def ask(number: int) -> None:
        chance = random.Random(number)
        with clients[number] as client:
            for query in chance.choices(queries, k=QUESTIONS):
                vectors = meaning.of_texts([query])
                asked = TeamQuestion(query, 10, 0, meaning.model, vectors[0] if vectors else b"")
                started = time.perf_counter()
                client.ask("search", asked, TeamAnswer)
                taken.append((time.perf_counter() - started) * 1000)

    with ThreadPoolExecutor(PEOPLE) as threads:
        list(threads.map(ask, range(PEOPLE)))
    events = team.value("SELECT count(*) FROM recollect.event")
    figures = {"people": PEOPLE, "questions": len(taken), "events": events, "ms": spread(taken)}
    text = (
        f"{PEOPLE} people asked {QUESTIONS} questions each, all at once, of {events:,} events: "
        f"p50 {figures['ms']['p50_ms']:.0f} ms, p95 {figures['ms']['p95_ms']:.0f} ms."
    )
    return Section("team/asking", "Team: people ask at once", figures, text)


GOALS_GB = (1.0, 2.0, 5.0, 10.0, 20.0)
MAKE_MONTH = """
CREATE TABLE recollect.{part} (LIKE recollect.event INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
"""
COPY_SESSIONS = """
INSERT INTO recollect.session (team_id, session_id, machine_id, member_id, session_uid, month, level, is_whole, stamp,
    agent, repo, outcome, started_at, ended_at, event_count, turn_count, title, branch)
SELECT s.team_id, s.session_id + %(offset)s, s.machine_id, s.member_id, s.session_uid || %(copy)s, %(month)s, s.level,
    true, s.stamp, s.agent, s.repo, s.outcome, s.started_at, s.ended_at, s.event_count, s.turn_count, s.title, s.branch
FROM recollect.session s WHERE s.session_id < %(step)s
"""
COPY_EVENTS = """
INSERT INTO recollect.{part} (team_id, month, session_id, event_id, part, seq, machine_id, member_id, kind, role, ts,
    turn_index, tool, summary, said, paths, is_undone, words)
SELECT e.team_id, %(month)s, e.session_id + %(offset)s, e.event_id, e.part, e.seq, e.machine_id, e.member_id, e.kind,
    e.role, e.ts, e.turn_index, e.tool, e.summary, e.said || ' ' || left(md5(e.event_id || %(copy)s), 8), e.paths,
    e.is_undone, e.words || array_to_tsvector(ARRAY[left(md5(e.event_id || %(copy)s), 8)])
FROM recollect.event e WHERE e.session_id < %(step)s AND e.session_id %% 2 = %(half)s
"""
STEP = 10_000_000
"""Session numbers of one copy lie below the first of the next."""


def growth(team: Team, queries: Sequence[str], *, gigabytes: float, minutes: float, bytes_per_event: float) -> Section:
    """Add months, each a gigabyte of history: what the machines pushed, again and again, each text with a word of its
    own. Ask at each goal, and look at the plans. bytes_per_event: of the transcripts that the events are from."""
    ends = time.monotonic() + minutes * 60
    base = team.value("SELECT count(*) FROM recollect.event")
    team.database.connection.execute("ALTER TABLE recollect.event ALTER COLUMN words DROP EXPRESSION")
    rows: list[dict[str, Any]] = []
    month_gb = min(1.0, gigabytes)
    copies = max(1, round(month_gb * 1e9 / bytes_per_event / base))
    goals = [goal for goal in (*GOALS_GB, gigabytes) if goal <= gigabytes]
    month, events = 0, base
    while goals:
        started = time.monotonic()
        _add_month(team, month, copies)
        month, events = month + 1, events + copies * base
        history_gb, took = events * bytes_per_event / 1e9, time.monotonic() - started
        print(f"team: {history_gb:.2f} GB of history after a month of {took:.0f} s", file=sys.stderr)
        is_last = time.monotonic() + took > ends or history_gb >= gigabytes
        if history_gb >= goals[0] or is_last:
            goals = [goal for goal in goals if goal > history_gb and not is_last]
            rows.append({"history_gb": history_gb, "months": month + 1, **_asked_with_plans(team, queries)})
    lines = ["| history | months | events | database | p50 ms | p95 ms | plans | scans of all events |"]
    lines += ["|--:|--:|--:|--:|--:|--:|--:|--:|"]
    lines += [
        f"| {row['history_gb']:.1f} GB | {row['months']} | {row['events']:,} | {row['database_bytes'] / 1e9:.1f} GB | "
        f"{row['ms']['p50_ms']:.0f} | {row['ms']['p95_ms']:.0f} | {row['plans']:,} | {row['sequential']} |"
        for row in rows
    ]
    lines += [
        "",
        "History is counted in bytes of transcripts. Vectors are those that the machines pushed, not multiplied.",
    ]
    if rows[-1]["history_gb"] < gigabytes:
        lines.append(f"Larger ones, up to {gigabytes:g} GB, did not fit into {minutes:g} minutes on this machine.")
    return Section("team/growth", "Team: a growing history", {"rows": rows}, "\n".join(lines))


def _add_month(team: Team, number: int, copies: int) -> None:
    """Add a month before those that are there, filled by two connections at once; its indexes are built at the end."""
    month = (date.today().replace(day=1) - timedelta(days=30 * number + 15)).replace(day=1)
    part = f"event_{month:%Y_%m}"
    team.database.connection.execute(MAKE_MONTH.format(part=part))

    def fill(half: int) -> None:
        with psycopg.connect(team.admin_url) as db:
            for copy in range(copies):
                told = {"offset": STEP * (number * copies + copy + 1), "copy": f"-{number}-{copy}", "month": month}
                db.execute(COPY_EVENTS.format(part=part), {**told, "step": STEP, "half": half})
                if not half:
                    db.execute(COPY_SESSIONS, {**told, "step": STEP})
                db.commit()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(fill, range(2)))
    with psycopg.connect(team.admin_url) as db:
        db.execute("SET maintenance_work_mem = '1GB'")
        until = (month + timedelta(days=32)).replace(day=1)
        db.execute(
            f"ALTER TABLE recollect.event ATTACH PARTITION recollect.{part} FOR VALUES FROM ('{month}') TO ('{until}')"
        )
        db.execute(f"ANALYZE recollect.{part}")


def _asked_with_plans(team: Team, queries: Sequence[str]) -> dict[str, Any]:
    """Ask by words, by infix and by meaning in the database itself, as a member, with every plan told; count those that
    read all events."""
    team_id = team.value("SELECT team_id FROM recollect.team")
    told: list[str] = []
    taken: list[float] = []
    with psycopg.connect(team.admin_url) as db:
        passage = db.execute("SELECT model, embedding::text FROM recollect.passage LIMIT 1").fetchone() or ("", None)
        db.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
        for setting in ("log_min_duration = 0", "log_nested_statements = on", "log_level = notice"):
            db.execute("LOAD 'auto_explain'")
            db.execute(f"SET auto_explain.{setting}")
        for name, value in (("team_id", str(team_id)), ("role", "member")):
            db.execute("SELECT set_config(%s, %s, false)", (f"recollect.{name}", value))
        nothing: dict[str, list[str]] = {key: [] for key in ("must", "must_not", *FILTERS)}
        for query in queries:
            asked = json.dumps({"words": query.split(), "need": "all", **nothing})
            started = time.perf_counter()
            db.execute("SELECT * FROM recollect.find_events(%s, 100)", (asked,)).fetchall()
            taken.append((time.perf_counter() - started) * 1000)
        infix = json.dumps({"words": [], "need": "all", **nothing, "must": [[{"like": f"%{queries[-1][1:]}%"}]]})
        db.execute("SELECT * FROM recollect.find_events(%s, 100)", (infix,)).fetchall()
        near = json.dumps({"words": [], "need": "any", **nothing})
        db.execute("SELECT * FROM recollect.find_near(%s, %s, %s::halfvec, 100)", (near, *passage)).fetchall()
    scans = [plan for plan in told if re.search(r"Seq Scan on (?:event|passage)_\d", plan)]
    for plan in scans[:1]:
        print(plan, file=sys.stderr)
    return {
        "events": team.value("SELECT count(*) FROM recollect.event"),
        "database_bytes": team.value("SELECT pg_database_size(current_database())"),
        "plans": len(told), "sequential": len(scans), "ms": spread(taken),
    }  # fmt: skip


def _pool(at: Places, corpus: corpora.Corpus, *, sessions: int) -> tuple[list[Shared], Memory]:
    home = at.home("team-pool")
    shutil.rmtree(home, ignore_errors=True)
    memory = Memory.open(home, config=corpus.config())
    memory.sync()
    return list(shared_of(memory, most=sessions)), memory


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure all parts, or the one that is named."""
    wanted = [options.part] if getattr(options, "part", None) in PARTS else list(PARTS)
    if getattr(options, "quick", False):
        options.machines, options.gigabytes = 40, 0.05
    count, gigabytes = getattr(options, "machines", 1000), getattr(options, "gigabytes", 20.0)
    found: list[Section] = []
    postgres = LocalPostgres()
    try:
        if "quality" in wanted:
            with team_of(postgres) as team:
                found.append(quality(at, team, is_kept=getattr(options, "keep", False)))
        if wanted != ["quality"]:
            corpus = corpora.generate(at, megabytes=20, sessions=400, seed=7)
            queries = [query for kind in ("common", "medium", "rare") for query in corpus.manifest()["queries"][kind]]
            pool, memory = _pool(at, corpus, sessions=400)
            with memory, team_of(postgres) as team:
                meaning = SharedMeaning(memory)
                found.append(machines(team, pool, meaning.model, count=count))
                team.database.connection.execute("ANALYZE")
                found.append(asking(team, meaning, queries))
                if "growth" in wanted:
                    minutes = getattr(options, "minutes", 15.0)
                    a_piece = corpus.manifest()["bytes"] / sum(len(one.events) for one in pool)
                    found.append(growth(team, queries, gigabytes=gigabytes, minutes=minutes, bytes_per_event=a_piece))
    finally:
        postgres.close()
    return found


def main() -> None:
    """Measure and publish."""
    made = parser(__doc__)
    made.add_argument("--part", choices=PARTS, help="only this one; asking and growth need machines first")
    made.add_argument("--machines", type=int, default=1000, metavar="N", help="that push their day (default: 1000)")
    made.add_argument("--gigabytes", type=float, default=20.0, metavar="GB", help="to grow to (default: 20)")
    made.add_argument("--minutes", type=float, default=15.0, metavar="N", help="growth: no longer (default: 15)")
    made.add_argument("--keep", action="store_true", help="quality: use the memory of the last run")
    made.add_argument("--quick", action="store_true", help="try a little of it")
    options = made.parse_args()
    publish(measure(places(options), options), dry=options.dry)


if __name__ == "__main__":
    main()
