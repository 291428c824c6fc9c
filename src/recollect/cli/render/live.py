"""`recollect up --status` for people."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from recollect.cli.render.figures import ago
from recollect.cli.render.notes import print_notes
from recollect.cli.terminal import safe_line
from recollect.memory import LearningNow, LiveStatus
from recollect.serve.daemon_control import DaemonAnswer
from recollect.units import count, plural, size

_STYLES = {"running": "green", "failing": "red", "not answering": "red", "not running": "yellow"}


def print_status(out: Console, answer: DaemonAnswer) -> None:
    """Print how a daemon is: one line, then what it does, then what fails."""
    line = Text(answer.state, style=_STYLES[answer.state])
    if answer.pid:
        line.append(f", process {answer.pid}, version {safe_line(answer.version)}", style="default")
    out.print(line.append(f", {safe_line(answer.home)}", style="default"), soft_wrap=True)
    if answer.is_other_version:
        print_notes(out, ["it was started before an upgrade: `recollect up --stop`, then start it again"])
    if answer.no_socket:
        without = "hooks and reads cannot ask it, and do by themselves what they need"
        print_notes(out, [f"{without}: {answer.no_socket}"])
    if answer.state == "not running":
        out.print("start it: recollect up --detach", highlight=False)
    if answer.status is not None:
        _print_work(out, answer.status, page=answer.page)


def _print_work(out: Console, status: LiveStatus, *, page: str) -> None:
    now, done = status.now, status.counters
    passes = plural(done.passes, "pass", "passes")
    rows = [
        ("page", safe_line(page) if page else f"none: {safe_line(status.http)}"),
        ("phase", f"{status.phase}, {plural(status.waiting_paths, 'changed path')} waiting"),
        ("last pass", _since(status.last_pass_at, now)),
        ("of everything", _since(status.last_full_at, now)),
        ("ingested", f"{plural(done.events, 'event')}, {size(done.bytes)} in {passes}"),
        ("analysed", plural(done.distilled_sessions, "session")),
        ("retention", _since(status.last_sweep_at, now)),
        *([("learning", _learning(status.learning, now))] if status.learning is not None else []),
        ("hooks", f"{count(done.hook_answers)} answered"),
        ("watched", _watched(status)),
    ]
    if status.delay is not None:
        delay = status.delay
        text = f"p50 {delay.p50_ms:g} ms, p95 {delay.p95_ms:g} ms, from notice, of the latest {delay.count}"
        rows.insert(5, ("searchable in", text))
    for name, value in rows:
        out.print(Text(f"  {name:<15}{value}"), soft_wrap=True)
    for failure in status.failures:
        text = f"{failure.work}: {failure.code}: {failure.message} ({failure.times} in a row, {ago(failure.at, now)})"
        out.print(Text(f"fails: {safe_line(text)}", style="red"), soft_wrap=True)
    learning = status.learning
    if learning is not None and learning.is_failing:
        out.print(Text(f"fails: learning is paused: {safe_line(learning.paused)}", style="red"), soft_wrap=True)
    print_notes(out, status.notes)


def _learning(learning: LearningNow, now: int) -> str:
    if not learning.enabled:
        return "switched off"
    text = f"{plural(learning.learnings, 'learning')}, {plural(learning.sessions_waiting, 'session')} waiting"
    text += f", last run {_since(learning.last_run_at, now)}"
    if learning.provider:
        text += f"; {learning.provider}: {plural(learning.turns_waiting, 'question')} waiting"
        text += f", ${learning.spent_today_usd:.4f} spent today"
        text += f", paused: {safe_line(learning.paused)}" if learning.paused and not learning.is_failing else ""
    others = (("given up", learning.dead), ("held back", learning.held_back))
    return text + "".join(f"; {count(number)} {name}" for name, number in others if number)


def _since(at: int | None, now: int) -> str:
    return "not yet" if at is None else ago(at, now)


def _watched(status: LiveStatus) -> str:
    polled = [place for place in status.watched if place.how == "polled"]
    text = plural(len(status.watched), "folder")
    if polled:
        reasons = ", ".join(sorted({place.reason for place in polled}))
        text += f", {len(polled)} of them looked at every 2 s ({safe_line(reasons)})"
    return text
