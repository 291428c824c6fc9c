"""`recollect team` and `sync-folder`."""

from __future__ import annotations

import os
import platform
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli.groups import noun
from recollect.cli.options import (
    NamedPath,
    choice_option,
    flag,
    many_option,
    number_option,
    open_memory,
    path_option,
    port_option,
    text_option,
)
from recollect.cli.results import LINE, CommandResult, ResultKind, examples, prints, show
from recollect.cli.terminal import write_bytes
from recollect.errors import TeamRefused, UsageError
from recollect.model.team_messages import LEVELS, ROLES, Level, TeamRole
from recollect.units import plural

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.team.database import Administration, AdministratorDatabase

MEMBERS = ResultKind("team-members", "recollect.model.team_messages:MemberView", "team:print_members", listed="members")
MADE = ResultKind("team-init", "recollect.team.reports:TeamMade", "team:print_made")
INVITED = ResultKind("team-invite", "recollect.team.reports:Invitation", "team:print_invitation")
IMPORTED = ResultKind("team-import", "recollect.team.reports:BulkReport", "team:print_bulk")
DATABASE = ResultKind("team-database", "recollect.team.reports:DatabaseView", "team:print_database")
PUSHED = ResultKind("team-push", "PushReport", "team:print_push")
AUDIT = ResultKind("team-audit", "recollect.model.team_messages:AuditPage", "team:print_audit")
STATUS = ResultKind("team-status", "TeamStatus", "team:print_status")

database_option = text_option(
    "--database", "URL",
    "postgresql://… Set RECOLLECT_TEAM_DATABASE instead to keep the password out of the process list.",
    envvar="RECOLLECT_TEAM_DATABASE", required=True,
)  # fmt: skip
team_option = text_option("--team", "NAME", "The team, if the database has several.")
group_option = text_option(
    "--group", "NAME", "The person's group in `recollect usage --team`, from the next session on.", default=None
)
role_option = choice_option("--role", ROLES, "What the person may see.", default="member")


@noun()
@examples("team join https://team.example.com", "team share shop-api --level distilled", "team push --dry-run")
def team() -> None:
    """Share sessions with a team, and serve its memory.

    Nothing is shared until you name a repository. Raw transcripts never leave this machine.
    `recollect help share-with-a-team` explains how.
    """


@team.command("join")
@click.argument("url")
@text_option("--code", "CODE", "The invitation. Without it, the command asks or reads a pipe.", default=None)
@text_option("--machine", "NAME", "A name for this machine in citations.  [default: its host name]", default=None)
@prints
@examples("team join https://team.example.com")
def join(url: str, code: str | None, machine: str | None) -> CommandResult:
    """Join a team with an invitation.

    Joining shares nothing yet. You can use an invitation only once; this machine then has its own token.
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
@choice_option(
    "--level",
    LEVELS,
    "figures: counts, cost, outcome. distilled: also titles, digests, decisions. full: also redacted events.",
)
@flag("--stop", "Stop sharing the repository. The next push withdraws it.", key="is_end")
@prints
@examples("team share shop-api --level figures", "team share shop-api --stop")
def share(repo: str | None, level: Level | None, is_end: bool) -> CommandResult:
    """Share a repository, and choose how much of it.

    REPO is the name of a repository. If several repositories have that name, give the folder or the remote of the one
    that you mean. If you choose a lower level, the next push withdraws what the new level does not include. Without
    arguments, the command lists what is shared.
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
@flag("--dry-run", "Send nothing; print the batches that would be sent, each as a line of JSON.", key="is_dry_run")
@prints
@examples("team push")
def push(memory: Memory, is_dry_run: bool) -> CommandResult:
    """Send what is new in shared repositories; withdraw what you no longer share.

    While the daemon runs, it does this for you. The command ingests nothing, so run `recollect sync` first.
    """
    if not is_dry_run:
        return PUSHED(memory.team.push())
    return PUSHED(memory.team.push(show=lambda batch: write_bytes(batch + b"\n")))


@team.command("leave")
@prints
@examples("team leave")
def leave(memory: Memory) -> CommandResult:
    """Withdraw everything that this machine shared, and leave the team."""
    mine = memory.team.leave()
    return LINE({"left": mine.team}, line=f"this machine has left {mine.team}; what it shared is withdrawn")


@team.command("audit")
@prints
@examples("team audit")
def audit(memory: Memory) -> CommandResult:
    """Show who read your sessions, and what you asked. An auditor sees everything."""
    return AUDIT(memory.team.audit())


@team.command("status")
@text_option("--database", "URL", "Show what a team's database contains.", default=None)
@team_option
@prints
@examples("team status", "recollect team status --database postgresql://postgres@db/recollect")
def status(database: str | None, team: str) -> CommandResult:
    """Show the last push and what is waiting, or what a team's database contains."""
    if database is None:
        with open_memory() as memory:
            return STATUS(memory.team.status())
    with _database(database) as opened:
        return DATABASE(_administration(opened, team).view())


@team.command("init")
@click.argument("name")
@text_option("--owner", "PERSON", "The first owner, who gets an invitation.", required=True)
@flag("--new-password", "Give the server's role another password.", key="is_new_password")
@database_option
@prints
@examples("recollect team init platform --owner ada --database postgresql://postgres@db/recollect")
def init(name: str, owner: str, is_new_password: bool, database: str) -> CommandResult:
    """Create a team in a PostgreSQL database.

    The command creates the schema, the role that the server uses, and an invitation for the first owner. The role in
    the URL must own the database and be allowed to create roles. The password of the new role and the invitation are
    printed only once.
    """
    _needs_psycopg()
    from recollect.team.database import make_team

    with _database(database) as opened:
        return MADE(make_team(opened, name, owner, is_new_password=is_new_password))


@team.command("migrate")
@database_option
@prints
@examples("recollect team migrate --database postgresql://postgres@db/recollect")
def migrate(database: str) -> CommandResult:
    """Bring the schema of a team's database up to date."""
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
@examples("recollect team invite grace --role lead --database postgresql://postgres@db/recollect")
def invite(person: str, role: TeamRole, group: str | None, team: str, database: str) -> CommandResult:
    """Invite a person, or another machine of a member."""
    with _database(database) as opened:
        return INVITED(_administration(opened, team).invite(person, role, group))


@team.command("members")
@team_option
@text_option(
    "--database",
    "URL",
    "Read the members from a database, not from the server.",
    default=None,
    envvar="RECOLLECT_TEAM_DATABASE",
)
@prints
@examples("team members", "recollect team members --database postgresql://postgres@db/recollect")
def members(team: str, database: str | None) -> CommandResult:
    """List members, their roles and machines. An owner also sees what the machines share."""
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
@examples("recollect team grant grace auditor --database postgresql://postgres@db/recollect")
def grant(person: str, role: TeamRole, group: str | None, team: str, database: str) -> CommandResult:
    """Give a member another role or group."""
    with _database(database) as opened:
        _administration(opened, team).grant(person, role, group)
    return LINE({"person": person, "role": role}, line=f"{person} is {role} now")


@team.command("revoke")
@click.argument("person")
@text_option("--machine", "NAME", "Only this machine; the person stays a member.")
@team_option
@database_option
@prints
@examples("recollect team revoke grace --machine old-laptop --database postgresql://postgres@db/recollect")
def revoke(person: str, machine: str, team: str, database: str) -> CommandResult:
    """Revoke a member's tokens at once. What the member shared stays."""
    with _database(database) as opened:
        count = _administration(opened, team).revoke(person, machine)
    return LINE({"person": person, "tokens": count}, line=f"{plural(count, 'token')} of {person} ended")


@team.command("retention")
@click.argument("days", required=False, type=click.IntRange(1, 36_500))
@flag("--forever", "Keep sessions forever again.", key="is_endless")
@team_option
@database_option
@prints
@examples("recollect team retention 365 --database postgresql://postgres@db/recollect")
def retention(days: int | None, is_endless: bool, team: str, database: str) -> CommandResult:
    """Set how many DAYS a team keeps a session after its last event, or show the number.

    Older sessions are removed at once, and then every hour while a server runs. Machines do not send them again. The
    audit log stays.
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
@many_option("--repo", "NAME", "Only this repository (repeatable).", key="repos")
@text_option("--scheduler", "ADDRESS", "The Dask cluster.  [default: one on this machine]")
@number_option(
    "--workers",
    "Processes of the cluster on this machine.  [default: one for each core]",
    least=1,
    most=256,
    default=os.cpu_count() or 1,
)
@flag("--dry-run", "Show what would be read; change nothing.", key="is_dry_run")
@database_option
@prints
@examples(
    "recollect team import /srv/old-laptops --level full --database postgresql://postgres@db/recollect",
    "team import /srv/old-laptops --level figures --scheduler tcp://dask:8786",
)
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
    """
    from recollect.cli.render.progress import ProgressLine

    _needs_psycopg()
    from recollect.team.bulk_import import BulkLoader, import_archives
    from recollect.team.reports import BulkReport

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
@text_option(
    "--host", "ADDRESS", "Address to listen on. If you change it, put TLS in front of it.", default="127.0.0.1",
    show_default=True,
)  # fmt: skip
@port_option("The port; 0 means any free one.", default=4320, is_shown=True)
@prints
@examples("RECOLLECT_TEAM_DATABASE=postgresql://recollect_server:…@db/recollect recollect team serve")
def serve(database: str, host: str, port: int, as_json: bool) -> int:
    """Serve a team's memory until Ctrl-C.

    Several servers may use the same database. Use the URL that `recollect team init` printed. The server refuses a role
    that could bypass row-level security.
    """
    _needs_psycopg()
    from recollect.team.app import serve_team

    def tell(url: str) -> None:
        show(LINE({"url": url}, line=f"serving the team on {url}; Ctrl-C stops"), as_json=as_json)

    serve_team(database, host, port, tell)
    return 0


def _database(url: str) -> AdministratorDatabase:
    _needs_psycopg()
    from recollect.team.database import AdministratorDatabase

    return AdministratorDatabase(url)


def _administration(database: AdministratorDatabase, team: str) -> Administration:
    from recollect.team.database import Administration

    return Administration(database, team)


def _needs_psycopg() -> None:
    from importlib.util import find_spec

    if find_spec("psycopg") is None or find_spec("psycopg_pool") is None:
        raise TeamRefused("a team's server needs psycopg", hint="pip install 'recollect[team]'")


FOLDER = ResultKind("sync-folder", "FolderReport", "team:print_folder")


@click.command("sync-folder")
@click.argument("folder", metavar="DIR", type=NamedPath(path_type=Path))
@path_option("--passphrase-file", "FILE", "Read the passphrase from the first line of FILE.")
@click.option(
    "--remember/--no-remember",
    "is_remembered",
    default=None,
    help="Store the key in your memory's home, where only you can read it, and let the daemon sync; --no-remember "
    "undoes both.",
)
@text_option("--machine", "NAME", "A name for this machine.  [default: its host name]")
@flag("--dry-run", "Show what would be sent and received; change nothing.", key="is_dry_run")
@prints
@examples("recollect sync-folder ~/Dropbox/recollect", "sync-folder /media/stick --dry-run")
def sync_folder(
    folder: Path,
    passphrase_file: Path | None,
    is_remembered: bool | None,
    machine: str,
    is_dry_run: bool,
) -> CommandResult:
    """Share sessions between your machines, through a folder.

    DIR is a folder that all your machines can reach: in Dropbox, on a network drive or on a USB stick. Its contents are
    encrypted with your passphrase. The command ingests what is new on this machine, adds it to the folder, and gets
    what the other machines have added. Sessions of excluded repositories stay on this machine. What you forget on one
    machine is forgotten on the others. The passphrase comes from RECOLLECT_SYNC_PASSPHRASE, a file or a pipe; otherwise
    the command asks for it.
    """
    from recollect.cli.render.progress import ProgressLine

    with open_memory() as memory, ProgressLine("syncing") as progress:
        report = memory.shared_folder.sync(
            folder, partial(_read, passphrase_file), name=machine, is_remembered=is_remembered, is_dry_run=is_dry_run,
            progress=progress.stage_done,
        )  # fmt: skip
    return FOLDER(report, code=3 if report.refused else 0)


def _read(file: Path | None, is_new: bool) -> str:
    if file is not None:
        try:
            return file.read_text("utf-8").partition("\n")[0].rstrip("\r")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read the passphrase from {file}: {error}") from error
    if given := os.environ.get("RECOLLECT_SYNC_PASSPHRASE"):
        return given
    if sys.stdin.isatty():
        return str(click.prompt("passphrase", hide_input=True, err=True, confirmation_prompt=is_new))
    return sys.stdin.readline().rstrip("\r\n")
