"""An action is done where a later turn shows it, and only there."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from recollect.ingest.learnings.readers import reading
from recollect.insights.learnings.closure import closed_actions
from recollect.model.events import Event, SourceLocation
from recollect.model.learnings.learnings import Learning, LearningEvidence
from recollect.model.payloads import AssistantMessage, Payload, ToolCall, ToolResult, UserMessage
from recollect.model.sessions import Session

T0 = 1_780_000_000_000_000
AT = SourceLocation("s", 0, 0, 1, 0, "00")


class Told(NamedTuple):
    """A session as it is learned from."""

    session: Session
    events: list[Event]

    def load(self, event: Event) -> Event:
        return event


def told(*payloads: Payload, first_turn: int = 0) -> Told:
    """Return a session of one event a payload, each of the user's in a turn of its own."""
    events, turn = [], first_turn
    for seq, payload in enumerate(payloads):
        kind = type(payload).__struct_config__.tag
        turn += kind == "user_message"
        event = Event(
            "claude:b", seq, f"e{seq}", 0, kind, payload, AT, None, T0 + 100 + seq, "exact", "user", turn, False
        )  # type: ignore[arg-type]
        events.append(event)
    return Told(Session("claude:b", "claude", "b"), events)


def action(text: str, *, session: str = "claude:a", event: str = "asked", ts: int = T0) -> Learning:
    evidence = (LearningEvidence(session, event, 0, "user", 0, ts),)
    return Learning(id="l1", kind="action", text=text, scope="repo", repo="demo", evidence=evidence, batch="b1")


def shell(command: str, *, exit_code: int | None = 0, ok: bool | None = True) -> tuple[Payload, Payload]:
    call = ToolCall("c1", "Bash", "shell", {"command": command})
    return call, ToolResult("c1", "Bash", ok, exit_code, "output")


@pytest.mark.parametrize(
    ("text", "said", "is_done"),
    [
        ("update the changelog for the release", "The changelog for the release is updated, done.", True),
        ("update the changelog for the release", "I have not updated the changelog for the release yet.", False),
        ("update the changelog for the release", "When the changelog is updated, the release is done.", False),
        ("update the changelog for the release", "Is the changelog for the release updated?", False),
        ("update the changelog for the release", "Done with the parser.", False),
        ("update the changelog for the release", "> The changelog for the release is updated, done.", False),
        ("clean up", "Cleaned up, done.", False),  # too few words to be sure
        ("Doku der Schnittstelle anpassen", "Die Doku der Schnittstelle anpassen: erledigt.", True),
        ("Doku der Schnittstelle anpassen", "Die Doku der Schnittstelle anpassen ist noch nicht erledigt.", False),
    ],
)
def test_a_sentence_that_says_it_is_done_in_its_own_words(text: str, said: str, *, is_done: bool) -> None:
    for message in (UserMessage(said), AssistantMessage(said)):
        found = closed_actions(told(UserMessage("go on"), message), [action(text)], reading())
        assert bool(found) == is_done


def test_the_command_that_it_names_ran_well() -> None:
    pending = [action("run `make release` when the tests pass")]
    assert closed_actions(told(UserMessage("go"), *shell("make release")), pending, reading())
    for call in (
        shell("make release", exit_code=2, ok=False),
        shell("make release-notes"),
        shell("make release", ok=None, exit_code=None),
    ):
        assert closed_actions(told(UserMessage("go"), *call), pending, reading()) == []


def test_what_shows_it_is_the_evidence_and_the_time() -> None:
    (found,) = closed_actions(
        told(UserMessage("go"), *shell("make release")), [action("run `make release`")], reading()
    )
    assert found.done_at == T0 + 102
    assert [(e.session_uid, e.event_id, e.author) for e in found.evidence] == [("claude:b", "e2", "tool")]
    assert found.batch == ""


def test_nothing_counts_that_came_before_or_in_the_turn_that_asked_for_it() -> None:
    said = AssistantMessage("The changelog for the release is updated, done.")
    text = "update the changelog for the release"
    late = action(text, ts=T0 + 10**6)
    assert closed_actions(told(UserMessage("go"), said), [late], reading()) == []
    here = action(text, session="claude:b", event="e0", ts=T0 + 100)
    assert closed_actions(told(UserMessage(text), said), [here], reading()) == []
    assert closed_actions(told(UserMessage(text), UserMessage("and now?"), said), [here], reading())


def test_what_was_injected_is_nobodys_word() -> None:
    said = UserMessage("The changelog for the release is updated, done.", "injected")
    assert (
        closed_actions(told(UserMessage("go"), said), [action("update the changelog for the release")], reading()) == []
    )
