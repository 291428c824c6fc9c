"""The program for the terminal, driven key by key as a person would."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import ContentSwitcher, Static

from recollect.cli.tui.app import EventScreen, HelpScreen, RecollectApp, SessionScreen
from recollect.cli.tui.lists import QueryInput, RowList, RowTable
from recollect.cli.tui.transcript_view import MOST, TranscriptView, lines_of
from recollect.memory import Memory
from recollect.model.events import Event, SourceLocation
from recollect.model.payloads import AssistantMessage, Payload, ToolCall, ToolResult, UserMessage
from recollect.testing.builders import ClaudeTranscript

Recollect = Callable[..., Any]
SIZE = (100, 30)
EVIL = "\x1b[2J\x1b]0;owned\x07 \u202eevil\u2066 [bold]loud[/bold] \x9b31m\x00"


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until all that was asked for is shown."""
    await pilot.pause(0.2)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def shown(app: App[Any]) -> str:
    """Return what is on the screen."""
    return "\n".join("".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips())


def drive(home: Path, steps: Callable[[RecollectApp, Pilot[Any]], Awaitable[None]]) -> None:
    """Run the program on a home."""

    async def run() -> None:
        with Memory.open(home) as memory:
            app = RecollectApp(memory)
            async with app.run_test(size=SIZE) as pilot:
                await settled(pilot)
                await steps(app, pilot)
            if app.failure is not None:
                raise app.failure

    asyncio.run(run())


def test_a_search_leads_to_the_event_that_was_found(demo: Path) -> None:
    async def steps(app: RecollectApp, pilot: Pilot[Any]) -> None:
        assert "the newest of 11 sessions" in shown(app)
        await pilot.press(*"ON CONFLICT DO NOTHING")
        await settled(pilot)
        assert "Idempotency keys for the payment webhook" in shown(app)
        await pilot.press("enter", "enter")
        await settled(pilot)
        assert isinstance(app.screen, SessionScreen)
        mark = app.screen.query_one(TranscriptView).mark
        assert mark
        assert f"claude:2aaeb4f4-04af-429c-b814-51289bf70d40#{mark} of 36 events" in shown(app)
        assert f"▌ #{mark} " in shown(app)
        await pilot.press("k", "j", "enter")
        await settled(pilot)
        assert isinstance(app.screen, EventScreen)
        await pilot.press("escape", "escape")
        assert isinstance(app.focused, RowList)
        await pilot.press("slash")
        assert isinstance(app.focused, QueryInput)

    drive(demo, steps)


def test_the_newest_session_is_a_key_away(demo: Path) -> None:
    async def steps(app: RecollectApp, pilot: Pilot[Any]) -> None:
        await pilot.press("down", "enter")
        await settled(pilot)
        assert isinstance(app.screen, SessionScreen)
        assert "Review the diff of this branch" in shown(app)

    drive(demo, steps)


def test_what_finds_nothing_says_so_and_a_wrong_query_is_a_line(demo: Path) -> None:
    async def steps(app: RecollectApp, pilot: Pilot[Any]) -> None:
        await pilot.press(*"qqzzxxyy")
        await settled(pilot)
        assert "nothing found" in shown(app)
        await pilot.press("escape", "2", "slash", *"repo:nowhere", "enter")
        await settled(pilot)
        assert "no repository called 'nowhere'" in shown(app)

    drive(demo, steps)


def test_sessions_are_filtered_and_opened(demo: Path) -> None:
    async def steps(app: RecollectApp, pilot: Pilot[Any]) -> None:
        await pilot.press("escape", "2")
        await settled(pilot)
        assert app.query_one(RowTable).row_count == 11
        await pilot.press("slash", *"agent:codex", "enter")
        await settled(pilot)
        assert "4 of 4 sessions" in shown(app)
        await pilot.press("j", "enter")
        await settled(pilot)
        assert "terraform plan for staging" in shown(app)
        await pilot.press("r")
        await settled(pilot)
        assert "codex resume 01a11a91" in shown(app)
        await pilot.press("escape")
        assert app.query_one(ContentSwitcher).current == "sessions"

    drive(demo, steps)


def test_usage_has_a_row_for_each_group(demo: Path) -> None:
    async def steps(app: RecollectApp, pilot: Pilot[Any]) -> None:
        await pilot.press("escape", "3", "p", "p")
        await settled(pilot)
        assert "the last year by agent" in shown(app)
        assert {"claude", "codex"} <= set(shown(app).split())
        await pilot.press("b")
        await settled(pilot)
        assert "claude-sonnet-4-5" in shown(app)

    drive(demo, steps)


def test_the_keys_are_explained_and_q_ends_it(demo: Path) -> None:
    async def steps(app: RecollectApp, pilot: Pilot[Any]) -> None:
        await pilot.press("escape", "question_mark")
        assert isinstance(app.screen, HelpScreen)
        assert "q        quit" in shown(app)
        await pilot.press("escape", "q")
        await pilot.pause()
        assert app.return_code == 0

    drive(demo, steps)


def test_nothing_that_an_agent_wrote_takes_control(tmp_path: Path, isolated_home: Path) -> None:
    """Titles, hits, transcripts: control sequences and marks of direction are text, and so is Textual's markup."""
    session = ClaudeTranscript(isolated_home / ".claude", "evil", cwd="/w/[red]shop")
    session.user(f"quagga {EVIL}")
    session.tool("Bash", {"command": f"echo {EVIL}"}, f"out {EVIL}")
    session.assistant(f"quagga done {EVIL}")
    with Memory.open(tmp_path / "home") as memory:
        memory.sync()

    async def steps(app: RecollectApp, pilot: Pilot[Any]) -> None:
        def check() -> None:
            assert not set(shown(app)) & set("\x1b\x00\x07\x9b\u202e\u2066")
            assert "[bold]loud[/bold]" in shown(app)

        check()
        await pilot.press("escape", "2")
        await settled(pilot)
        assert "[red]shop" in shown(app)
        await pilot.press("1", "slash", *"quagga")
        await settled(pilot)
        check()
        await pilot.press("enter", "enter")
        await settled(pilot)
        check()
        assert "␛[2J" in shown(app)
        assert "\\u202eevil" in shown(app)
        await pilot.press("enter")
        await settled(pilot)
        check()

    drive(tmp_path / "home", steps)


class Reader(App[None]):
    """A transcript alone."""

    def __init__(self, load: Callable[[int, int], Sequence[Event]], order: Sequence[int]) -> None:
        super().__init__()
        self.load, self.order = load, order

    def compose(self) -> ComposeResult:
        yield TranscriptView(self.load, self.order)


NOWHERE = SourceLocation("s", 0, 0, 0, 0, "")


def event(payload: Payload, seq: int = 1) -> Event:
    kind = str(payload.__struct_config__.tag)
    return Event(
        session_uid="claude:x", seq=seq, event_id=f"e{seq}", part=0, kind=kind, payload=payload, location=NOWHERE, ts=1
    )


def numbered(seq: int) -> Event:
    said = UserMessage(f"prompt {seq}") if seq % 10 == 0 else AssistantMessage(f"answer {seq}\n" * (1 + seq % 4))
    return event(said, seq)


def test_a_transcript_of_100_000_events_is_read_in_windows() -> None:
    """What is kept does not grow, every event passes by in order, and both ends are a key away."""
    count, loaded = 100_000, []

    def load(first: int, limit: int) -> Sequence[Event]:
        loaded.append(limit)
        return [numbered(seq) for seq in range(first, min(count, first + limit))]

    async def run() -> None:
        app = Reader(load, range(count))
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            view = app.query_one(TranscriptView)
            view.focus()
            assert "#0 " in shown(app)
            for seq in range(1, 2_000):
                view.action_move(1)
                assert view.mark == seq
                assert len(view._shown) <= MOST + 120
            await pilot.pause()
            assert "▌ #1999 " in shown(app)
            for _ in range(500):
                view.action_page(-1)
            await pilot.pause()
            assert view.scroll_offset.y == 0
            assert "#0 " in shown(app)
            await pilot.press("G")
            await pilot.pause()
            assert view.mark == count - 1
            assert "▌ #99999 " in shown(app)
            for _ in range(300):
                view.action_page(-1)
            before = view.mark
            assert 90_000 < before < count - 1_000
            for _ in range(300):
                view.action_page(1)
            await pilot.pause()
            assert "#99999 " in shown(app)
            await pilot.press("g")
            await pilot.pause()
            assert view.mark == 0
        assert max(loaded) <= 120

    asyncio.run(run())


def test_events_stand_in_the_sessions_order_and_what_is_gone_is_left_out() -> None:
    """A newer version of an event has a later number and stands where the first one stood."""
    order = [0, 299, *range(2, 299)]

    async def run() -> None:
        app = Reader(lambda first, limit: [numbered(s) for s in order[order.index(first) :][:limit] if s != 7], order)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            view = app.query_one(TranscriptView)
            seen = [view.mark]
            for _ in range(350):
                view.action_move(1)
                seen.append(view.mark)
        assert list(dict.fromkeys(seen)) == [seq for seq in order if seq != 7]

    asyncio.run(run())


def test_a_long_output_is_cut_and_shown_whole_by_itself() -> None:
    text = "\n".join(f"line {number}" for number in range(5_000))
    long = event(ToolResult(text=text, ok=False))
    cut = [line.plain for line in lines_of(long, 80)]
    assert len(cut) == 43
    assert cut[-2].endswith("more; Enter shows it")
    assert len(list(lines_of(long, 80, is_whole=True))) == 5_002


@pytest.mark.parametrize("text", ["a" * 500, "word " * 100, "漢字" * 80, "", "tab\there", "é" * 81])
def test_a_wrapped_line_loses_nothing_and_fits(text: str) -> None:
    made = event(AssistantMessage(f"start\n{text}"))
    lines: list[Text] = list(lines_of(made, 40, is_whole=True))
    assert all(line.cell_len <= 40 for line in lines)
    assert "".join(line.plain[2:] for line in lines[2:]) == text.expandtabs(4).rstrip("\n")


def test_who_speaks_is_told_by_colour_too() -> None:
    async def run() -> None:
        app = Reader(lambda first, limit: [numbered(seq) for seq in range(20)[first:][:limit]], range(20))
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            view = app.query_one(TranscriptView)
            heads = {s.text: s.style for y in range(20) for s in view.render_line(y) if s.text.startswith("#")}
        colours = {text.split()[-1]: style.color.name for text, style in heads.items() if style and style.color}
        assert colours == {"you": "green", "agent": "cyan"}

    asyncio.run(run())


def test_a_call_is_told_by_its_arguments() -> None:
    made = event(ToolCall(name="Bash", arguments={"command": "ls"}))
    assert [line.plain for line in lines_of(made, 60)][1] == "  command: ls"


def test_without_a_terminal_it_is_one_line(filled: Path, recollect: Recollect) -> None:
    done = recollect("tui")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[0] == "recollect: `recollect tui` needs a terminal, and prints nothing"


def test_the_first_view_is_the_search(demo: Path) -> None:
    async def steps(app: RecollectApp, pilot: Pilot[Any]) -> None:
        assert isinstance(app.focused, QueryInput)
        assert app.query_one("#found", Static)

    drive(demo, steps)


def test_a_bug_ends_it_and_is_handed_over(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual would print variables, and with them what a transcript says."""

    def broken(*_: object, **__: object) -> None:
        raise ValueError("a transcript's words")

    async def steps(app: RecollectApp, pilot: Pilot[Any]) -> None:
        monkeypatch.setattr(Memory, "search", broken)
        await pilot.press(*"webhook")
        while app.failure is None:
            await pilot.pause(0.05)

    with pytest.raises(ValueError, match="words"):
        drive(demo, steps)
