"""An action is done where a later turn shows it, and only there."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.learnings.action_words import action_key
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
        ("translate the export dialog before the release", "I've translated the export dialog.", True),
        ("translate the export dialog before the release", "I've translated the import dialog.", False),
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
        found = closed_actions(told(UserMessage("go on"), message), [action(text)])
        assert bool(found) == is_done


def test_the_command_that_it_names_ran_well() -> None:
    pending = [action("run `make release` when the tests pass")]
    assert closed_actions(told(UserMessage("go"), *shell("make release")), pending)
    for call in (
        shell("make release", exit_code=2, ok=False),
        shell("make release-notes"),
        shell("make release", ok=None, exit_code=None),
    ):
        assert closed_actions(told(UserMessage("go"), *call), pending) == []


def test_what_shows_it_is_the_evidence_and_the_time() -> None:
    (found,) = closed_actions(told(UserMessage("go"), *shell("make release")), [action("run `make release`")])
    assert found.done_at == T0 + 102
    assert [(e.session_uid, e.event_id, e.author) for e in found.evidence] == [("claude:b", "e2", "tool")]
    assert found.batch == ""


def test_nothing_counts_that_came_before_or_in_the_turn_that_asked_for_it() -> None:
    said = AssistantMessage("The changelog for the release is updated, done.")
    text = "update the changelog for the release"
    late = action(text, ts=T0 + 10**6)
    assert closed_actions(told(UserMessage("go"), said), [late]) == []
    here = action(text, session="claude:b", event="e0", ts=T0 + 100)
    assert closed_actions(told(UserMessage(text), said), [here]) == []
    assert closed_actions(told(UserMessage(text), UserMessage("and now?"), said), [here])


def test_what_was_injected_is_nobodys_word() -> None:
    said = UserMessage("The changelog for the release is updated, done.", "injected")
    assert closed_actions(told(UserMessage("go"), said), [action("update the changelog for the release")]) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rotate the sentry key", "Done: rotate the sentry key"),
        ("urgent: rotate the Sentry key!", "I've rotated the sentry key"),
        ("rotate the sentry key asap", "The sentry key has been rotated."),
        ("rotate the sentry key", "erledigt: rotate the sentry key"),
        ("rotate the sentry key", "[x] rotate the sentry key"),
        ("rotate the sentry key", "Finished rotating the sentry key."),
        ("rotate the sentry key", "rotated"),
        ("write the release notes", "I wrote the release notes."),
        ("fix the login test", "Fixed the login test."),
        ("drop the legacy users table", "The legacy users table is dropped."),
        ("dringend: Sentry-Schlüssel rotieren", "Ich habe den Sentry-Schlüssel rotiert."),
        ("Zertifikat erneuern", "Zertifikat erneuert."),
        ("den alten Bucket löschen", "Der alte Bucket ist gelöscht."),
    ],
)
def test_what_is_told_done_is_done(text: str, said: str) -> None:
    assert closed_actions(told(UserMessage("go on"), UserMessage(said)), [action(text)])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rotate the sentry key", "done"),
        ("rotate the sentry key", "I rotated the database password."),
        ("rotate the sentry key", "I rotated the staging sentry key."),
        ("rotate the staging sentry key", "I rotated the production sentry key."),
        ("rotate the sentry key", "I tried to rotate the sentry key, but failed."),
        ("rotate the sentry key", "We rotated the sentry key last year."),
        ("rotate the sentry key", "Bob said the sentry key is rotated."),
        ("bump node to 22", "bumped node to 20"),
        ("fix the login test", "fixed the logout test"),
        ("merge main into dev", "merged dev into main"),
        ("update the deprecated API page", "Please update the deprecated API page."),
        ("den alten Bucket löschen", "Der neue Bucket ist gelöscht."),
        ("migrate the users table", "We have to get the users table migrated."),
        ("call the bank", "The bank called me."),
        ("close the ticket", "The closed ticket."),
    ],
)
def test_nothing_else_that_is_done_closes_it(text: str, said: str) -> None:
    for message in (UserMessage(said), AssistantMessage(said)):
        assert closed_actions(told(UserMessage("go on"), message), [action(text)]) == []


def test_a_verb_alone_closes_nothing_where_it_may_mean_several_or_something_else() -> None:
    sentry, logs = action("rotate the sentry key"), msgspec.structs.replace(action("rotate the logs"), id="l2")
    assert closed_actions(told(UserMessage("go on"), UserMessage("rotated")), [sentry, logs]) == []
    spoken_of = told(UserMessage("go"), AssistantMessage("Please rotate the image."), UserMessage("rotated"))
    assert closed_actions(spoken_of, [sentry]) == []
    reminded = told(UserMessage("go"), AssistantMessage("Still to do: rotate the sentry key."), UserMessage("rotated"))
    assert closed_actions(reminded, [sentry])


def test_a_commit_with_its_words_closes_it() -> None:
    pending = [action("add tests for the parser")]
    for message, is_done in (
        ("Add tests for the parser", True),
        ("test(core): add tests for the parser", True),
        ("Add docs for the parser", False),
        ("WIP: add tests for the parser", False),
        ("Revert add tests for the parser", False),
    ):
        made = told(UserMessage("go"), *shell(f"git add -A && git commit -m '{message}'"))
        assert bool(closed_actions(made, pending)) == is_done, message
    failed = told(UserMessage("go"), *shell("git commit -m 'Add tests for the parser'", exit_code=1, ok=False))
    assert closed_actions(failed, pending) == []


VERBS, THINGS = (
    ("rotate", "delete", "update", "renew", "review"),
    ("sentry key", "old bucket", "parser docs", "TLS cert"),
)
wishes = st.tuples(st.sampled_from(VERBS), st.sampled_from(THINGS), st.sampled_from(("", "staging ", "v2 ")))
dressed = st.sampled_from(("{}", "Urgent: {}!", "TODO {}", "please {} asap", "we need to {}", "{} later."))


@given(one=wishes, other=wishes, dress=dressed)
def test_done_closes_the_action_that_it_names_however_it_was_put_and_no_other(
    one: tuple[str, str, str], other: tuple[str, str, str], dress: str
) -> None:
    asked = dress.format(f"{one[0]} the {one[2]}{one[1]}")
    done = f"I have {other[0].rstrip('e')}ed the {other[2]}{other[1]}."
    found = closed_actions(told(UserMessage("go on"), UserMessage(done)), [action(asked)])
    assert bool(found) == (one == other)
    assert (action_key(asked) == action_key(f"{other[0]} the {other[2]}{other[1]}") != ()) == (one == other)
