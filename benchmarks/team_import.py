"""A company's old archives into a team's database: MB/s with one and two Dask workers, and what a session takes there.

A PostgreSQL of its own runs for it on this machine, and shares its cores with the workers.
"""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path
from typing import Any

from benchmarks.support import corpora
from benchmarks.support.places import Places, parser, places
from benchmarks.support.results import Section, publish
from recollect import Memory
from recollect.model.team_messages import LEVELS, Level
from scripts.local_postgres import LocalPostgres

WORKERS = (1, 2)
MEGABYTES, SESSIONS = 120, 240
_SIZES = (
    "SELECT coalesce(p.relname, c.relname), sum(pg_total_relation_size(c.oid))::bigint, "
    "sum(pg_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent "
    "WHERE n.nspname = 'recollect' AND c.relkind = 'r' "
    "GROUP BY 1 HAVING sum(pg_relation_size(c.oid)) > 0 ORDER BY 2 DESC"
)


def imported(home: Path, postgres: str, archives: Path, workers: int, level: Level) -> dict[str, Any]:
    """Import a folder into a database of its own and return the figures."""
    import psycopg
    from psycopg.conninfo import make_conninfo

    from recollect.sharing.membership import Membership, write_membership
    from recollect.team.bulk_import import BulkLoader, BulkReport, import_archives
    from recollect.team.database import AdministratorDatabase, credential, make_team, new_token

    name = f"bench_{workers}_{level}"
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")
    shutil.rmtree(home, ignore_errors=True)
    with (
        AdministratorDatabase(make_conninfo(postgres, dbname=name)) as database,
        Memory.open(home, env={"HOME": str(home.parent)}) as memory,
    ):
        database.migrate()
        invitation = credential(make_team(database, "bench", "ada").code)
        token, hashed = new_token(invitation.team_id)
        database.connection.execute("SELECT recollect.join_team(%s, %s, 'old', %s, '1 day')", (*invitation, hashed))
        memory.sync(agents=())
        write_membership(home, Membership("http://127.0.0.1", token, "bench", "ada", "old", 0))
        found, parts = memory.team.archives((archives,), level=level)
        loader = BulkLoader(database, token)
        report = BulkReport(loader.machine, level, len(parts), left_out=found.left_out)
        before = os.times()
        import_archives(loader, parts, report, scheduler="", workers=workers, progress=lambda _done, _total: None)
        after = os.times()
        loader.close()
        database.connection.execute("VACUUM ANALYZE")
        sizes = database.connection.execute(_SIZES).fetchall()
    assert not report.failed, report.failed
    return {
        "megabytes": round(report.bytes / 1e6, 1), "seconds": round(report.seconds, 1), "parts": report.parts,
        "mb_per_s": round(report.bytes / 1e6 / report.seconds, 2), "sessions": report.sessions, "events": report.events,
        "driver_cpu_s": round(after.user + after.system - before.user - before.system, 1),
        "tables": {str(table): [int(str(total)), int(str(heap))] for table, total, heap in sizes},
    }  # fmt: skip


def measure(at: Places, options: argparse.Namespace) -> list[Section]:
    """Measure both; returns one section."""
    if options.corpus:
        corpus = corpora.generated(options.corpus[0].resolve())
    else:
        corpus = corpora.generate(at, megabytes=MEGABYTES, sessions=SESSIONS, seed=7)
    (archives,) = {path.parent for _name, path in corpus.variables.values()}
    server = LocalPostgres()
    figures: dict[str, Any] = {"workers": {}, "levels": {}}
    try:
        for workers in WORKERS:
            home = at.home("team-import")
            figures["workers"][workers] = imported(home, server.url, archives, workers, "full")
        for level in LEVELS[:-1]:
            figures["levels"][level] = imported(at.home("team-import"), server.url, archives, max(WORKERS), level)
        figures["levels"]["full"] = figures["workers"][max(WORKERS)]
    finally:
        server.close()
    return [Section(f"team_import/{corpus.name}", f"Bulk import for a team: {corpus.name}", figures, render(figures))]


def render(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    lines = ["| Dask workers | MB | s | MB/s | sessions | events |", "|--:|--:|--:|--:|--:|--:|"]
    for workers, one in figures["workers"].items():
        lines.append(
            f"| {workers} | {one['megabytes']} | {one['seconds']} | {one['mb_per_s']} | {one['sessions']:,} "
            f"| {one['events']:,} |"
        )
    lines += [
        "",
        "| level | s | database, MB | bytes a session | bytes an event | per byte of transcript |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for level, one in figures["levels"].items():
        total = sum(size for size, _heap in one["tables"].values())
        an_event = f"{one['tables']['event'][0] / one['events']:,.0f}" if one["events"] else ""
        share = f"{total / one['megabytes'] / 1e4:.1f} %"
        lines.append(
            f"| {level} | {one['seconds']} | {total / 1e6:.1f} | {total / one['sessions']:,.0f} "
            f"| {an_event} | {share} |"
        )
    lines += [
        "",
        "The whole call: starting the cluster, reading, redacting, analysing, loading. PostgreSQL and the workers "
        "share the machine's cores. Sizes are those of tables with their indexes, after VACUUM. Levels were imported "
        f"with {max(WORKERS)} workers. At `full`, PostgreSQL's storing of events and their indexes through one "
        "connection takes the time that `figures` does not take, so a second worker gains nothing on two cores.",
    ]
    return "\n".join(lines)


def main() -> int:
    """Run by itself."""
    options = parser(__doc__).parse_args()
    publish(measure(places(options), options), dry=options.dry)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
