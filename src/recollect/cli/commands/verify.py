"""`recollect verify`."""

from __future__ import annotations

import click

from recollect.cli.options import NamedPath, as_option, json_option, open_memory
from recollect.cli.terminal import console, write_json


@click.command()
@click.argument("file", metavar="[FILE|-]", type=NamedPath(), required=False)
@as_option
@click.option("--deep", is_flag=True, help="Also derive everything again, and hold it against what is stored.")
@json_option
def command(file: str | None, agent: str | None, deep: bool, as_json: bool) -> int:
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
        return _verify_file(file, agent, as_json=as_json)
    if agent is not None:
        raise click.UsageError("--as goes with a FILE")
    from recollect.cli.render.progress import ProgressLine

    with open_memory() as memory, ProgressLine("verifying") as progress:
        if deep:
            report = memory.upkeep.verify_deep(progress=progress.stage_done)
        else:
            report = memory.upkeep.verify(progress=progress.bytes_done)
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.upkeep import print_verify

        print_verify(console(), report)
    return 0 if report.ok else 3


def _verify_file(file: str, agent: str | None, *, as_json: bool) -> int:
    from recollect.cli.pipes import config_of_user, input_path
    from recollect.memory import stages_of, verify_path

    config = config_of_user()
    with input_path(file) as path:
        report = verify_path(path, agent=agent, config=config, stages=stages_of(config))
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.upkeep import print_file_verify

        print_file_verify(console(), report)
    return 0 if report.ok else 3
