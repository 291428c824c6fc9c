"""`recollect parse`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from recollect.cli.options import NamedPath, as_option, json_option, sink_option
from recollect.cli.pipes import (
    Meant,
    config_of_user,
    input_path,
    meant_options,
    print_lines,
    ranked_option,
    told_on_stderr,
    writing,
)

if TYPE_CHECKING:
    from recollect.memory import Item, Reading


@click.command()
@click.argument("file", metavar="FILE|-", type=NamedPath())
@as_option
@meant_options
@ranked_option
@click.option("--explain", is_flag=True, help="Give every message with the rules that fired on it, and where.")
@sink_option
@json_option
def command(
    file: str, agent: str | None, explain: bool, is_ranked: bool, *, sink: str | None, as_json: bool,
    **meant: Unpack[Meant],
) -> int:  # fmt: skip
    """Turn a transcript into events, or what they mean.

    NDJSON, one item a line, without a memory. FILE: a transcript of any agent, a folder, a database or an export; -
    reads from a pipe. Redacted like everything Recollect shows. Whose the transcript is, its content tells; standard
    error says so. --json is accepted and changes nothing.

    \b
    Examples:
      recollect parse session.jsonl | head -3
      recollect parse session.jsonl --nodes | jq 'select(.node == "decision") | .statement'
      recollect parse session.jsonl --nodes --explain
    """
    with input_path(file) as path:
        is_plain = not (explain or any(meant.values()))
        if is_plain and sink is None:
            return _print_events(path, agent)
        from recollect.memory import Changes, explained, groups_of, items_of, mean, read_path, stages_of

        config = config_of_user()
        reading = read_path(path, agent=agent, config=config, told=told_on_stderr)
        stages = stages_of(config, is_ranked=is_ranked)
        found = is_plain and bool(reading.events)
        if explain:
            found = print_lines(explained(reading.events, stages=stages))
        with writing(sink) as out:
            if any(meant.values()):
                items = items_of(mean(reading.events, stages=stages), **meant)
                found = found or bool(items)
                out.write(Changes(out.given(), groups=groups_of(**meant)).take(items, reading.events), {})
            elif is_plain:
                # All of it at once: a second run finds by the offset that it is there already.
                name, size = str(path.resolve()), reading.bytes
                if out.offsets().get(name) != size:
                    start = out.offsets().get(name, 0)
                    out.write(_from(reading, start), {name: size})
    return 0 if found else 1


def _from(reading: Reading, start: int) -> list[Item]:
    """Return the events whose records begin at an offset or behind it."""
    return [e for events in reading.events.values() for e in events if e.location.offset_bytes >= start]


def _print_events(path: Path, agent: str | None) -> int:
    from recollect.memory import events_of

    return 0 if print_lines(events_of(path, agent=agent, config=config_of_user(), told=told_on_stderr)) else 1
