"""`recollect doctor`, `verify` and `repair`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli.options import NamedPath, as_option, open_memory
from recollect.cli.results import CommandResult, ResultKind, prints
from recollect.cli.terminal import console

if TYPE_CHECKING:
    from recollect.memory import Fix

DOCTOR = ResultKind("doctor", "DoctorReport", "maintenance:print_doctor")
VERIFY = ResultKind("verify", "VerifyReport", "ingest:print_verify")
FILE_VERIFY = ResultKind("verify-file", "FileVerifyReport", "ingest:print_file_verify")
REPAIR = ResultKind("repair", "RepairReport", "maintenance:print_repair")


@click.command()
@click.option("--fix", "is_fixing", is_flag=True, help="Repair what is safe to repair; show each step first.")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="With --fix: show the steps; change nothing.")
@prints
def doctor(is_fixing: bool, is_dry_run: bool, as_json: bool) -> CommandResult:
    """Check the health of the memory.

    A check that fails says what to do. --fix repairs what it can without deleting anything that is stored: it restricts
    permissions, ingests pending data, replaces the results of older versions, repairs the index, restores the agent
    settings that `recollect setup` wrote, removes what crashes left behind, and frees disk space.

    \b
    Examples:
      recollect doctor
      recollect doctor --fix --dry-run
    """
    if is_dry_run and not is_fixing:
        raise click.UsageError("--dry-run needs --fix")
    with open_memory() as memory:
        if is_fixing:
            report = memory.maintenance.fix(is_dry_run=is_dry_run, say=_print_steps(as_json=as_json))
        else:
            report = memory.maintenance.doctor()
    return DOCTOR(report, code=0 if report.ok else 3)


def _print_steps(*, as_json: bool) -> Callable[[Fix], None]:
    """Return what prints each step before it is done; nothing stands beside JSON."""
    if as_json:
        return lambda _: None
    from recollect.cli.render.maintenance import print_fix

    out = console()
    return lambda step: print_fix(out, step)


@click.command()
@click.argument("file", metavar="[FILE|-]", type=NamedPath(), required=False)
@as_option
@click.option("--deep", is_flag=True, help="Also rebuild everything in memory and compare it with what is stored.")
@prints
def verify(file: str | None, agent: str | None, deep: bool) -> CommandResult:
    """Prove that every stored byte can be restored.

    Reads the whole archive, recomputes every hash, and compares what was ingested with what can be restored. With FILE,
    it checks only that transcript and needs no memory: every byte must be accounted for, and parsing and analysing it
    in pieces must give the same result.

    --deep takes as long as ingesting everything, and nothing else can be ingested meanwhile. It derives everything
    again from the archive and compares events, token usage, digests, the index and the vectors with what is stored.

    \b
    Examples:
      recollect verify
      recollect verify --deep
      recollect verify session.jsonl
    """
    if file is not None:
        if deep:
            raise click.UsageError("--deep cannot be used with a FILE")
        return _verify_file(file, agent)
    if agent is not None:
        raise click.UsageError("--as needs a FILE")
    from recollect.cli.render.progress import ProgressLine

    with open_memory() as memory, ProgressLine("verifying") as progress:
        if deep:
            report = memory.maintenance.verify_deep(progress=progress.stage_done)
        else:
            report = memory.maintenance.verify(progress=progress.bytes_done)
    return VERIFY(report, code=0 if report.ok else 3)


def _verify_file(file: str, agent: str | None) -> CommandResult:
    from recollect.cli.commands.pipes import input_path
    from recollect.config import load_config
    from recollect.memory import stages_of, verify_path

    config = load_config()
    with input_path(file) as path:
        report = verify_path(path, agent=agent, config=config, stages=stages_of(config))
    return FILE_VERIFY(report, code=0 if report.ok else 3)


@click.command()
@click.option(
    "--from", "source", type=NamedPath(path_type=Path), metavar="BACKUP", help="Also restore from this backup."
)
@click.option(
    "--dry-run", "is_dry_run", is_flag=True, help="Show what is damaged and what would be done; change nothing."
)
@prints
def repair(source: Path | None, is_dry_run: bool, as_json: bool) -> CommandResult:
    """Repair what is damaged in the memory.

    Opens every chunk of the archive, checks keys, journal and database, and shows what is damaged before it changes
    anything. It restores damaged parts of the archive from your agents' files or, with --from, from a backup. It
    derives a damaged or missing database again from the archive, and rewrites a damaged journal from the database. The
    exit code is 3 while something is still missing.

    \b
    Examples:
      recollect repair --dry-run
      recollect repair --from /media/disk/memory
    """
    with open_memory() as memory:
        report = memory.maintenance.repair(source=source, is_dry_run=is_dry_run, say=_print_steps(as_json=as_json))
    return REPAIR(report, code=0 if report.ok else 3)
