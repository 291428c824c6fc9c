"""`recollect team`."""

from __future__ import annotations

import os
import platform
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli.groups import noun
from recollect.cli.options import NamedPath, open_memory
from recollect.cli.results import LINE, CommandResult, ResultKind, prints, show
from recollect.cli.terminal import write_bytes
from recollect.errors import TeamRefused, UsageError
from recollect.model.team_messages import LEVELS, ROLES, Level, TeamRole
from recollect.units import plural

if TYPE_CHECKING:
    from recollect.team.administration import Administration
    from recollect.team.database import AdministratorDatabase

MEMBERS = ResultKind("team-members", "recollect.model.team_messages:MemberView", "team:print_members", listed="members")
MADE = ResultKind("team-init", "recollect.team.administration:TeamMade", "team:print_made")
INVITED = ResultKind("team-invite", "recollect.team.administration:Invitation", "team:print_invitation")
IMPORTED = ResultKind("team-import", "recollect.team.bulk_import:BulkReport", "team:print_bulk")
DATABASE = ResultKind("team-database", "recollect.team.administration:DatabaseView", "team:print_database")
PUSHED = ResultKind("team-push", "PushReport", "team:print_push")
AUDIT = ResultKind("team-audit", "recollect.model.team_messages:AuditPage", "team:print_audit")
STATUS = ResultKind("team-status", "TeamStatus", "team:print_status")

database_option = click.option(
    "--database", metavar="URL", envvar="RECOLLECT_TEAM_DATABASE", required=True,
    help="postgresql://… Set RECOLLECT_TEAM_DATABASE instead to keep the password out of the process list.",
)  # fmt: skip
team_option = click.option("--team", default="", metavar="NAME", help="The team, if the database has several.")
group_option = click.option(
    "--group", metavar="NAME", help="The person's group in `recollect usage --team`, from the next session on."
)
role_option = click.option(
    "--role", type=click.Choice(ROLES), default="member", show_default=True, help="What the person may see."
)


@noun()
def team() -> None:
    """Share sessions with a team, and serve its memory.

    Nothing is shared until you name a repository. Raw transcripts never leave this machine.
    `recollect help share-with-a-team` explains how.

    \b
    Examples:
      recollect team join https://team.example.com
      recollect team share shop-api --level distilled
      recollect team push --dry-run
    """


@team.command("join")
@click.argument("url")
@click.option("--code", metavar="CODE", help="The invitation. Without it, the command asks or reads a pipe.")
@click.option("--machine", metavar="NAME", help="A name for this machine in citations.  [default: its host name]")
@prints
def join(url: str, code: str | None, machine: str | None) -> CommandResult:
    """Join a team with an invitation.

    Joining shares nothing yet. You can use an invitation only once; this machine then has its own token.

    \b
    Example:
      recollect team join https://team.example.com
    """
    if not code:
        is_asked = sys.stdin.isatty()
        code = click.prompt("invitation", hide_input=True, err=True) if is_asked else sys.stdin.readline().strip()
    with open_memory() as memory:
        mine = memory.team.join(url, code, machine or platform.node() or "machine")
    line = f"{mine.person} on {mine.machine} has joined {mine.team}; nothing is shared yet"
    return LINE({"team": mine.team, "person": mine.person, "machine": mine.machine, "url": mine.url}, line=line)


@team.command("share")
@click.argument("repo", required=False)
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    help="figures: counts, cost, outcome. distilled: also titles, digests, decisions. full: also redacted events.",
)
@click.option("--stop", "is_end", is_flag=True, help="Stop sharing the repository. The next push withdraws it.")
@prints
def share(repo: str | None, level: Level | None, is_end: bool) -> CommandResult:
    """Share a repository, and choose how much of it.

    REPO is the name of a repository. If several repositories have that name, give the folder or the remote of the one
    that you mean. If you choose a lower level, the next push withdraws what the new level does not include. Without
    arguments, the command lists what is shared.

    \b
    Examples:
      recollect team share shop-api --level figures
      recollect team share shop-api --stop
    """
    with open_memory() as memory:
        if repo is None:
            mine = memory.team.membership()
        elif (level is None) == (not is_end):
            raise UsageError("name a --level, or --stop")
        else:
            mine = memory.team.share(repo, level)
    said = ", ".join(f"{name} ({how})" for name, how in mine.shares.items()) or "nothing"
    return LINE({"team": mine.team, "shares": mine.shares}, line=f"shared with {mine.team}: {said}")


@team.command("push")
@click.option(
    "--dry-run",
    "is_dry_run",
    is_flag=True,
    help="Send nothing; print the batches that would be sent, each as a line of JSON.",
)
@prints
def push(is_dry_run: bool) -> CommandResult:
    """Send what is new in shared repositories; withdraw what you no longer share.

    While the daemon runs, it does this for you. The command ingests nothing, so run `recollect sync` first.

    \b
    Example:
      recollect team push
    """
    with open_memory() as memory:
        if not is_dry_run:
            return PUSHED(memory.team.push())
        return PUSHED(memory.team.push(show=lambda batch: write_bytes(batch + b"\n")))


@team.command("leave")
@prints
def leave() -> CommandResult:
    """Withdraw everything that this machine shared, and leave the team.

    \b
    Example:
      recollect team leave
    """
    with open_memory() as memory:
        mine = memory.team.leave()
    return LINE({"left": mine.team}, line=f"this machine has left {mine.team}; what it shared is withdrawn")


@team.command("audit")
@prints
def audit() -> CommandResult:
    """Show who read your sessions, and what you asked. An auditor sees everything.

    \b
    Example:
      recollect team audit
    """
    with open_memory() as memory:
        return AUDIT(memory.team.audit())


@team.command("status")
@click.option("--database", metavar="URL", help="Show what a team's database contains.")
@team_option
@prints
def status(database: str | None, team: str) -> CommandResult:
    """Show the last push and what is waiting, or what a team's database contains.

    \b
    Examples:
      recollect team status
      recollect team status --database postgresql://postgres@db/recollect
    """
    if database is None:
        with open_memory() as memory:
            return STATUS(memory.team.status())
    with _database(database) as opened:
        return DATABASE(_administration(opened, team).view())


@team.command("init")
@click.argument("name")
@click.option("--owner", required=True, metavar="PERSON", help="The first owner, who gets an invitation.")
@click.option("--new-password", "is_new_password", is_flag=True, help="Give the server's role another password.")
@database_option
@prints
def init(name: str, owner: str, is_new_password: bool, database: str) -> CommandResult:
    """Create a team in a PostgreSQL database.

    The command creates the schema, the role that the server uses, and an invitation for the first owner. The role in
    the URL must own the database and be allowed to create roles. The password of the new role and the invitation are
    printed only once.

    \b
    Example:
      recollect team init platform --owner ada --database postgresql://postgres@db/recollect
    """
    _needs_psycopg()
    from recollect.team.administration import make_team

    with _database(database) as opened:
        return MADE(make_team(opened, name, owner, is_new_password=is_new_password))


@team.command("migrate")
@database_option
@prints
def migrate(database: str) -> CommandResult:
    """Bring the schema of a team's database up to date.

    \b
    Example:
      recollect team migrate --database postgresql://postgres@db/recollect
    """
    with _database(database) as opened:
        version = opened.migrate()
    return LINE({"schema_version": version}, line=f"the schema is at version {version}")


@team.command("invite")
@click.argument("person")
@role_option
@group_option
@team_option
@database_option
@prints
def invite(person: str, role: TeamRole, group: str | None, team: str, database: str) -> CommandResult:
    """Invite a person, or another machine of a member.

    \b
    Example:
      recollect team invite grace --role lead --database postgresql://postgres@db/recollect
    """
    with _database(database) as opened:
        return INVITED(_administration(opened, team).invite(person, role, group))


@team.command("members")
@team_option
@click.option(
    "--database",
    metavar="URL",
    envvar="RECOLLECT_TEAM_DATABASE",
    help="Read the members from a database, not from the server.",
)
@prints
def members(team: str, database: str | None) -> CommandResult:
    """List members, their roles and machines. An owner also sees what the machines share.

    \b
    Examples:
      recollect team members
      recollect team members --database postgresql://postgres@db/recollect
    """
    if database is None:
        with open_memory() as memory:
            return MEMBERS(memory.team.members().members)
    with _database(database) as opened:
        return MEMBERS(_administration(opened, team).members())


@team.command("grant")
@click.argument("person")
@click.argument("role", type=click.Choice(ROLES))
@group_option
@team_option
@database_option
@prints
def grant(person: str, role: TeamRole, group: str | None, team: str, database: str) -> CommandResult:
    """Give a member another role or group.

    \b
    Example:
      recollect team grant grace auditor --database postgresql://postgres@db/recollect
    """
    with _database(database) as opened:
        _administration(opened, team).grant(person, role, group)
    return LINE({"person": person, "role": role}, line=f"{person} is {role} now")


@team.command("revoke")
@click.argument("person")
@click.option("--machine", default="", metavar="NAME", help="Only this machine; the person stays a member.")
@team_option
@database_option
@prints
def revoke(person: str, machine: str, team: str, database: str) -> CommandResult:
    """Revoke a member's tokens at once. What the member shared stays.

    \b
    Example:
      recollect team revoke grace --machine old-laptop --database postgresql://postgres@db/recollect
    """
    with _database(database) as opened:
        count = _administration(opened, team).revoke(person, machine)
    return LINE({"person": person, "tokens": count}, line=f"{plural(count, 'token')} of {person} ended")


@team.command("retention")
@click.argument("days", required=False, type=click.IntRange(1, 36_500))
@click.option("--forever", "is_endless", is_flag=True, help="Keep sessions forever again.")
@team_option
@database_option
@prints
def retention(days: int | None, is_endless: bool, team: str, database: str) -> CommandResult:
    """Set how many DAYS a team keeps a session after its last event, or show the number.

    Older sessions are removed at once, and then every hour while a server runs. Machines do not send them again. The
    audit log stays.

    \b
    Example:
      recollect team retention 365 --database postgresql://postgres@db/recollect
    """
    if days is not None and is_endless:
        raise UsageError("name DAYS or --forever, not both")
    with _database(database) as opened:
        administration = _administration(opened, team)
        removed = administration.keep(days) if days is not None or is_endless else 0
        kept = administration.retention()
    said = f"sessions are kept for {plural(kept, 'day')}" if kept is not None else "sessions are kept for ever"
    line = f"{said}; {plural(removed, 'session')} removed" if removed else said
    return LINE({"days": kept, "removed": removed}, line=line)


@team.command("import")
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=NamedPath(path_type=Path))
@click.option("--level", type=click.Choice(LEVELS), required=True, help="How much of each session is shared.")
@click.option("--repo", "repos", multiple=True, metavar="NAME", help="Only this repository (repeatable).")
@click.option("--scheduler", default="", metavar="ADDRESS", help="The Dask cluster.  [default: one on this machine]")
@click.option(
    "--workers", type=click.IntRange(1, 256), default=os.cpu_count() or 1, metavar="N",
    help="Processes of the cluster on this machine.  [default: one for each core]",
)  # fmt: skip
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Show what would be read; change nothing.")
@database_option
@prints
def import_(
    folders: tuple[Path, ...],
    level: Level,
    repos: tuple[str, ...],
    scheduler: str,
    workers: int,
    is_dry_run: bool,
    database: str,
) -> CommandResult:
    """Import old transcripts into a team's database, with Dask.

    Join the team first. The sessions then belong to you, as if they came from a separate machine, called NAME archives.
    The cluster reads and redacts the transcripts, so Recollect must be installed there and DIR must have the same path.
    No raw transcript reaches the database. If anything goes wrong, run the command again; this creates no duplicates.

    \b
    Examples:
      recollect team import /srv/old-laptops --level full --database postgresql://postgres@db/recollect
      recollect team import /srv/old-laptops --level figures --scheduler tcp://dask:8786
    """
    from recollect.cli.render.progress import ProgressLine

    _needs_psycopg()
    from recollect.team.bulk_import import BulkLoader, BulkReport, import_archives

    with open_memory() as memory, _database(database) as opened, ProgressLine("importing") as progress:
        token = memory.team.membership().token
        found, parts = memory.team.archives(folders, level=level, repos=repos)
        with closing(BulkLoader(opened, token)) as loader:
            report = BulkReport(loader.machine, level, len(parts), left_out=found.left_out)
            if not is_dry_run:
                import_archives(
                    loader, parts, report, scheduler=scheduler, workers=workers, progress=progress.bytes_done
                )
    return IMPORTED(report, code=3 if report.failed else 0, is_dry_run=is_dry_run, total=sum(one.size for one in parts))


@team.command("serve")
@database_option
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on. If you change it, put TLS in front of it.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=4320,
    show_default=True,
    metavar="N",
    help="The port; 0 means any free one.",
)
@prints
def serve(database: str, host: str, port: int, as_json: bool) -> int:
    """Serve a team's memory until Ctrl-C.

    Several servers may use the same database. Use the URL that `recollect team init` printed. The server refuses a role
    that could bypass row-level security.

    \b
    Example:
      RECOLLECT_TEAM_DATABASE=postgresql://recollect_server:…@db/recollect recollect team serve
    """
    _needs_psycopg()
    from recollect.team.start import serve_team

    serve_team(database, host, port, lambda url: print_address(url, as_json=as_json))
    return 0


def print_address(url: str, *, as_json: bool) -> None:
    """Say where the server is."""
    show(LINE({"url": url}, line=f"serving the team on {url}; Ctrl-C stops"), as_json=as_json)


def _database(url: str) -> AdministratorDatabase:
    _needs_psycopg()
    from recollect.team.database import AdministratorDatabase

    return AdministratorDatabase(url)


def _administration(database: AdministratorDatabase, team: str) -> Administration:
    from recollect.team.administration import Administration

    return Administration(database, team)


def _needs_psycopg() -> None:
    from importlib.util import find_spec

    if find_spec("psycopg") is None or find_spec("psycopg_pool") is None:
        raise TeamRefused("a team's server needs psycopg", hint="pip install 'recollect[team]'")
