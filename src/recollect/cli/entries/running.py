"""`recollect learnings run` and `ask`: learning on demand, and what a model would be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.terminal import console, write_json, write_list
from recollect.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from recollect.cli.options import TimeRange
    from recollect.memory import Memory

EXIT_CODES = {"done": 0, "off": 1, "interrupted": 3, "busy": 3}


def run(memory: Memory, *, as_json: bool) -> int:
    """Learn from what is due; return the exit code. It can be stopped anywhere and goes on the next time."""
    from recollect.cli.render.progress import ProgressLine

    with ProgressLine("learning", counted="session") as progress:
        report = memory.learn.run(progress=progress.items_done)
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.learnings.learnings import print_run

        print_run(console(), report)
    return EXIT_CODES[report.state]


def preview(memory: Memory, session: str | None, *, is_dry_run: bool, as_json: bool) -> int:
    """Show what a model would be sent of a session; return the exit code. Raises UsageError without one."""
    if session is None:
        raise UsageError("name one session", hint="recollect learnings ask SESSION --dry-run")
    if not is_dry_run:
        raise UsageError("`learnings ask` asks about all that waits", hint="recollect learnings ask SESSION --dry-run")
    found = memory.learn.preview(session)
    if as_json:
        write_json(found)
    else:
        from recollect.cli.render.learnings.learnings import print_preview

        print_preview(console(), found)
    return 0 if found.questions else 1


def ask(memory: Memory, older: TimeRange | None, *, as_json: bool) -> int:
    """Have the rules read what is new and the configured model asked about it, now; return the exit code.

    older: of sessions from before it was configured too, of this period. Raises ConfigError where no model is
    configured, and what kept it from being asked.
    """
    if not memory.learn.asks_model:
        raise ConfigError(
            "no model is configured", key="learning.provider", hint="see docs/learning-models.md; the rules need none"
        )
    read = memory.learn.run(at_once=True)
    if older is not None:
        memory.learn.want_older(**older)
    answered = memory.learn.ask(at_once=True)
    report, failure = answered.report, answered.failure
    report.sessions = read.sessions
    report.notes = [*read.notes, *report.notes]
    if as_json and failure is None:
        write_json(report)
    elif not as_json:
        from recollect.cli.render.learnings.learnings import print_asked

        report.notes = [note for note in report.notes if note != str(failure)]  # it is told as an error
        print_asked(console(), report, memory.learn.status(), memory.config.learning)
    if failure is not None:
        raise failure
    return EXIT_CODES[report.state]


def tell_status(memory: Memory, *, as_json: bool) -> int:
    """Print how learning is; return the exit code."""
    status = memory.learn.status()
    if as_json:
        write_json(status)
    else:
        from recollect.cli.render.learnings.learnings import print_learn_status

        print_learn_status(console(), status)
    return 0


def tell_held_back(memory: Memory, *, limit: int, as_json: bool) -> int:
    """Print what of a model's answers cannot be used; return the exit code."""
    found = memory.learn.held_back(limit=limit)
    if as_json:
        write_list("texts", found)
    else:
        from recollect.cli.render.learnings.learnings import print_held_back

        print_held_back(console(), found)
    return 0 if found else 1
