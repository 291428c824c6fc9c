"""`recollect parse`, `replay` and `watch`: commands on files and pipes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import click

from recollect.cli.options import NamedPath, as_option, flag, number_option, open_memory, sink_option, when_option
from recollect.cli.results import ResultKind, examples
from recollect.cli.terminal import safe_line
from recollect.config import load_config
from recollect.errors import SourceUnavailable, UsageError
from recollect.visible import encode_json

if TYPE_CHECKING:
    from recollect.memory import Given, Item, Offsets, Recognised, Sink, Watcher


EVERY_S = 0.1
KEPT_S = 5.0
"""How often is asked whether a daemon keeps the memory fresh."""
LOOK_S = 2.0
"""How often this process looks for changes where no daemon does: one that runs for hours must cost little."""

ResultKind("node", "recollect.model.insights.nodes:Node")
ResultKind("signal", "recollect.model.insights.signals:Signal")
ResultKind("digest-piped", "recollect.model.insights.digests:Digest")
ResultKind("explanation", "Explanation")
ResultKind("retracted", "Retracted")

Command = TypeVar("Command", bound=Callable[..., Any])


class Meant(TypedDict):
    """What `meant_options` gives: which distilled things are wanted."""

    nodes: bool
    signals: bool
    digests: bool


class MeantAndPiped(Meant):
    """That, and what `piped_options` gives. agent: of `--as`; sink: of `--sink`."""

    agent: str | None
    sink: str | None


ndjson_option = click.option("--json", is_flag=True, expose_value=False, help="Print JSON.")
"""Accepted everywhere; here JSON, one item a line, comes without it too."""


def piped_options(command: Command) -> Command:
    """Add `--as`, `--sink` and `--json`."""
    return as_option(sink_option(ndjson_option(command)))


def meant_options(command: Command) -> Command:
    """Add `--nodes`, `--signals` and `--digest`."""
    for name, key, text in (
        ("--digest", "digests", "Print the digest of every session."),
        ("--signals", "signals", "Print test runs, errors, retries, interventions and the like."),
        ("--nodes", "nodes", "Print conversations, decisions, episodes and bindings."),
    ):
        command = click.option(name, key, is_flag=True, help=text)(command)
    return command


def ranked_option(command: Command) -> Command:
    """Add `--ranked`."""
    text = "Also print decisions found by learned weights, marked `ranked`."
    return flag("--ranked", text, key="is_ranked")(command)


class Lines:
    """Standard output as a sink: one JSON line an item, sent at once. A pipe remembers nothing."""

    def offsets(self) -> dict[str, int]:
        """Return nothing: nobody knows how far a pipe was read."""
        return {}

    def given(self) -> dict[str, Given]:
        """Return nothing, likewise."""
        return {}

    def write(self, items: Sequence[Item], offsets: Offsets) -> None:
        """Write the items and let them go out at once."""
        del offsets
        print_lines(items)

    def close(self) -> None:
        """Leave standard output open."""


def print_lines(items: Iterable[object]) -> bool:
    """Print each item as a line of JSON as it comes; return whether there was one."""
    out = sys.stdout.buffer
    found = False
    for item in items:
        out.write(encode_json(item) + b"\n")
        found = True
    out.flush()
    return found


@contextmanager
def input_path(name: str) -> Iterator[Path]:
    """Yield the path of an input; `-` is a private copy of standard input."""
    if name != "-":
        yield Path(name)
        return
    from recollect.memory import as_file

    with as_file(sys.stdin.buffer) as copy:
        yield copy


@contextmanager
def writing(sink: str | None) -> Iterator[Sink]:
    """Yield what results are written to, see `open_sink`; None: standard output."""
    if sink is None:
        yield Lines()
        return
    opened = open_sink(sink)
    try:
        yield opened
    finally:
        opened.close()


def open_sink(text: str) -> Sink:
    """Return the sink that `--sink` names: `ndjson:FILE` or `sqlite:FILE`; without a word the file's ending tells."""
    kind, sep, place = text.partition(":")
    if not sep or kind not in ("ndjson", "sqlite"):
        kind, place = ("sqlite" if text.endswith((".db", ".sqlite", ".sqlite3")) else "ndjson"), text
    if not place:
        raise click.BadParameter(f"{text!r} names no file; write ndjson:FILE or sqlite:FILE", param_hint="--sink")
    from recollect.memory import LinesSink, SqliteSink

    return SqliteSink(Path(place)) if kind == "sqlite" else LinesSink(Path(place))


def told_on_stderr(found: Recognised) -> None:
    """Say whose a transcript is and how that was told."""
    how = "recognised by its content" if found.is_told_by_content else "as you said"
    print(safe_line(f"read as {found.adapter.facts.name} ({found.adapter.facts.slug}), {how}"), file=sys.stderr)


@click.command()
@click.argument("file", metavar="FILE|-", type=NamedPath())
@as_option
@meant_options
@ranked_option
@flag("--explain", "Print every message with the rules that matched it, and where.")
@sink_option
@ndjson_option
@examples(
    "parse session.jsonl | head -3",
    "parse session.jsonl --nodes | jq 'select(.node == \"decision\") | .statement'",
    "parse session.jsonl --nodes --explain",
)
def parse(
    file: str, agent: str | None, explain: bool, is_ranked: bool, *, sink: str | None,
    **meant: Unpack[Meant],
) -> int:  # fmt: skip
    """Turn a transcript into events, or into decisions.

    Prints NDJSON, one item per line, and needs no memory. FILE is a transcript of any agent, a folder, a database or an
    export; - reads from a pipe. Secrets are redacted. Recollect recognises the agent by the content and names it on
    standard error. --json changes nothing.
    """
    with input_path(file) as path:
        is_plain = not (explain or any(meant.values()))
        if is_plain and sink is None:
            from recollect.memory import events_of

            events = events_of(path, agent=agent, config=load_config(), told=told_on_stderr)
            return 0 if print_lines(events) else 1
        from recollect.memory import Changes, explained, groups_of, items_of, mean, read_path, stages_of

        config = load_config()
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
                # All of it at once: a second run finds by the offset that it exists already.
                name, size = str(path.resolve()), reading.bytes
                if out.offsets().get(name) != size:
                    start = out.offsets().get(name, 0)
                    events = (event for events in reading.events.values() for event in events)
                    out.write([event for event in events if event.location.offset_bytes >= start], {name: size})
    return 0 if found else 1


@click.command()
@click.argument("file", metavar="FILE|-", type=NamedPath())
@piped_options
@number_option(
    "--steps", "Maximum number of steps, evenly spread over the turns.", least=1, most=1000, default=10, is_shown=True
)
@flag("--signals", "Also print signals.")
@flag("--digest", "Also print digests.", key="digests")
@ranked_option
@examples("replay session.jsonl --steps 5", "replay session.jsonl --sink sqlite:nodes.db")
def replay(
    file: str, steps: int, signals: bool, digests: bool, *, is_ranked: bool, agent: str | None, sink: str | None
) -> int:
    """Replay a transcript step by step.

    Prints, as NDJSON and in order, the nodes that `recollect watch` would have printed while the session ran. A node
    that changed since the previous step is printed again; one that no longer holds is printed as {"node": "retracted"}.
    The last step gives the same nodes as `recollect parse --nodes`. --json changes nothing.
    """
    from recollect.memory import play, read_path, stages_of

    config = load_config()
    found = False
    with input_path(file) as path, writing(sink) as out:
        reading = read_path(path, agent=agent, config=config, told=told_on_stderr)
        # Whoever is sent lines is sent each step as it comes; a sink gets all of it at once, and once.
        name, is_sunk = _name(path, signals=signals, digests=digests), sink is not None
        if is_sunk and out.offsets().get(name) == reading.bytes:
            return 0
        kept: list[Item] = []
        given = out.given()
        stages = stages_of(config, is_ranked=is_ranked)
        for items in play(reading.events, steps=steps, stages=stages, signals=signals, digests=digests, given=given):
            found = found or bool(items)
            if is_sunk:
                kept += items
            else:
                out.write(items, {})
        if is_sunk:
            out.write(kept, {name: reading.bytes})
    return 0 if found else 1


def _name(path: Path, *, signals: bool, digests: bool) -> str:
    """Return by what a sink knows that this was played; `parse` goes by the path alone."""
    kinds = ("nodes", *(("signals",) if signals else ()), *(("digests",) if digests else ()))
    return f"replay of {', '.join(kinds)}: {path.resolve()}"


@click.command()
@click.argument("paths", metavar="[FILE|DIR|-]...", type=NamedPath(), nargs=-1)
@piped_options
@meant_options
@ranked_option
@flag("--new", "Skip what already exists.", key="only_new")
@flag("--once", "Print what exists, then exit.")
@when_option("--since", "Begin with the events from this time on.", also="--after")
@click.option("--idle", "idle_s", type=click.FloatRange(min=0), default=2.0, show_default=True, metavar="SECONDS",
              help="How long a file must be quiet before it is analysed.")  # fmt: skip
@examples(
    "watch --since today",
    "watch ~/.claude/projects --new",
    "watch session.jsonl --nodes --sink ndjson:nodes.ndjson",
    "tail -f session.jsonl | recollect watch - --nodes",
)
def watch(
    paths: tuple[str, ...], only_new: bool, once: bool, since: int | None, idle_s: float, *, is_ranked: bool,
    **options: Unpack[MeantAndPiped],
) -> int:  # fmt: skip
    """Follow the memory or transcripts as they grow.

    Prints new events, or what they mean, as NDJSON, with secrets redacted. Ctrl-C ends it. Without paths, it follows
    every agent, from now on or from --since, and analyses sessions that have ended. With paths, it needs no memory: it
    follows files and folders, including files that appear later, and analyses a file that has been quiet for --idle
    seconds. With --sink, the next run continues where this one ended. --json changes nothing.
    """
    if not paths:
        return follow_memory(options, since=since, once=once, is_ranked=is_ranked)
    if since is not None:
        raise UsageError("--since works only without paths", hint="recollect watch --since today")
    from recollect.memory import Followed, Pace, Wanted, Watcher, as_growing_file, stages_of

    missing = [path for path in paths if path != "-" and not Path(path).exists()]
    if missing:
        raise SourceUnavailable(f"{missing[0]} does not exist")
    config = load_config()
    with ExitStack() as stack:
        followed = [Path(path) for path in paths if path != "-"]
        is_ended: Callable[[], bool] = never
        if "-" in paths:
            copy, ended = stack.enter_context(as_growing_file(sys.stdin.buffer))
            followed.append(copy)
            is_ended = ended.is_set if len(paths) == 1 else never
        out = stack.enter_context(writing(options["sink"]))
        wanted = Wanted(False, options["nodes"], options["signals"], options["digests"], is_ranked)
        watcher = Watcher(
            Followed(tuple(followed), options["agent"], config), wanted=wanted if any(wanted) else Wanted(),
            stages=stages_of(config, is_ranked=is_ranked), before=out, pace=Pace(idle_s, not only_new),
            unread=lambda path, why: print(safe_line(f"not read: {path}: {why}"), file=sys.stderr),
        )  # fmt: skip
        return 0 if _follow(watcher, out, once=once, is_ended=is_ended) else 1


def never() -> bool:
    """Files have no end: who follows them decides."""
    return False


def _follow(watcher: Watcher, out: Sink, *, once: bool, is_ended: Callable[[], bool]) -> bool:
    """Look again and again until there is an end, or Ctrl-C; return whether anything was given."""
    from recollect.memory import EVERY_S

    found = False
    try:
        while not once and not is_ended():
            found = _look(watcher, out, is_end=False) or found
            time.sleep(EVERY_S)
    except KeyboardInterrupt:
        found = True
    return _look(watcher, out, is_end=True) or found


def _look(watcher: Watcher, out: Sink, *, is_end: bool) -> bool:
    found = False
    for batch in watcher.look(is_end=is_end):
        out.write(batch.items, {batch.path: batch.size})
        found = True
    return found


def follow_memory(options: MeantAndPiped, *, since: int | None, once: bool, is_ranked: bool = False) -> int:
    """Give what is new until Ctrl-C, with once what there is now; return 1 where there was nothing."""
    from recollect.memory import Following, Wanted

    if options["agent"] is not None:
        raise UsageError(
            "--as works only with paths: the memory already knows the agent of each event", hint="leave it out"
        )
    meant = Wanted(False, options["nodes"], options["signals"], options["digests"], is_ranked)
    found = False
    with open_memory() as memory, writing(options["sink"]) as out:
        following = Following(memory, wanted=meant if any(meant) else Wanted(), since=since, before=out)
        refresh_at = asked_at = 0.0
        is_kept = False
        try:
            while True:
                now = time.monotonic()
                if now - asked_at >= KEPT_S or once:
                    is_kept, asked_at = memory.live.is_alive(), now
                if not is_kept and now >= refresh_at:
                    memory.refresh()
                    refresh_at = time.monotonic() + LOOK_S
                for batch in following.look():
                    out.write(batch.items, following.offsets_of(batch))
                    found = True
                if once:
                    return 0 if found else 1
                time.sleep(EVERY_S)
        except KeyboardInterrupt:
            return 0
        finally:
            following.close()
