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
@click.option("--fix", "is_fixing", is_flag=True, help="Put right what can safely be put right; say each step first.")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="With --fix: say what it would do, and do nothing.")
@prints
def doctor(is_fixing: bool, is_dry_run: bool, as_json: bool) -> CommandResult:
    """Check the health of the memory.

    Every check is run now, has a name, and says what to do where it is not ok. --fix does what drops nothing that is
    stored: it closes permissions, ingests what waits, derives anew what older versions made, mends the index, writes
    the settings of agents again that `recollect setup` wrote, removes what crashes left, and gives room back.

    \b
    Examples:
      recollect doctor
      recollect doctor --fix --dry-run
    """
    if is_dry_run and not is_fixing:
        raise click.UsageError("--dry-run goes with --fix")
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
@click.option("--deep", is_flag=True, help="Also derive everything again, and hold it against what is stored.")
@prints
def verify(file: str | None, agent: str | None, deep: bool) -> CommandResult:
    """Prove that every stored byte and record can be given back.

    Reads the whole archive, recomputes every hash, and holds what came in against what can come out. With FILE: checks
    that transcript alone, without a memory: that every byte is accounted for, and that reading and distilling it give
    the same however it is cut.

    --deep takes as long as ingesting everything, and nothing is ingested meanwhile: events, token usage and the ledger
    are derived anew from the archive, beside what is there; the index, the vectors and the digests are held against
    what is stored.

    \b
    Examples:
      recollect verify
      recollect verify --deep
      recollect verify session.jsonl
    """
    if file is not None:
        if deep:
            raise click.UsageError("--deep goes without a FILE")
        return _verify_file(file, agent)
    if agent is not None:
        raise click.UsageError("--as goes with a FILE")
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
@click.option("--from", "source", type=NamedPath(path_type=Path), metavar="BACKUP", help="Also take from this backup.")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Say what is damaged and what would be done, no more.")
@prints
def repair(source: Path | None, is_dry_run: bool, as_json: bool) -> CommandResult:
    """Repair what is damaged in the memory.

    Opens every chunk of the archive, checks keys, journal and database, and says what is damaged before it does
    anything. Damaged parts of the archive are restored from your agents' files or, with --from, from a backup. A
    damaged or missing database is derived again from the archive, a damaged journal is written again from the
    database. Exits with 3 while something is still missing, and says what.

    \b
    Examples:
      recollect repair --dry-run
      recollect repair --from /media/disk/memory
    """
    with open_memory() as memory:
        report = memory.maintenance.repair(source=source, is_dry_run=is_dry_run, say=_print_steps(as_json=as_json))
    return REPAIR(report, code=0 if report.ok else 3)
