"""What people say becomes learnings of the right kind and place, with evidence that names their words."""

from __future__ import annotations

import pytest

from recollect.ingest.learnings.readers import extract_session
from recollect.insights.learnings.extraction import EXTRACTOR
from recollect.insights.learnings.identity import confidence_of, learning_id
from recollect.model.learnings.learnings import Learning
from tests.quality.learned import Step, WrittenSession, session_doing, session_saying


def said(text: str) -> list[Learning]:
    return extract_session(session_saying(text)).learnings


def only(text: str) -> Learning:
    (found,) = said(text)
    return found


def test_a_learning_carries_its_evidence_id_and_confidence() -> None:
    learning = only("please remember that deploys happen on Thursdays")
    assert (learning.kind, learning.scope, learning.repo, learning.text) == (
        "fact", "repo", "shop", "deploys happen on Thursdays",
    )  # fmt: skip
    assert learning.id == learning_id("fact", "repo", "shop", "", learning.text)
    assert learning.confidence == confidence_of(learning.features)
    (evidence,) = learning.evidence
    assert (evidence.event_id, evidence.part, evidence.author) == ("e3", 0, "user")
    assert evidence.quote == "deploys happen on Thursdays"
    assert learning.valid_from == evidence.ts
    assert (learning.status, learning.state, learning.extractor) == ("derived", "active", EXTRACTOR)
    assert (learning.recorded_at, learning.batch) == (0, "")


def test_a_preference_holds_for_the_user_unless_the_repository_is_named() -> None:
    assert only("always answer in English").scope == "user"
    assert only("always squash before you merge in this repo").scope == "repo"
    placed = only("from now on keep the queries in src/shop/queries.py sorted")
    assert (placed.scope, placed.path) == ("path", "src/shop/queries.py")


def test_an_absolute_path_is_told_from_the_repository() -> None:
    assert only("no, it belongs into /home/dev/shop/web/app.ts").path == "web/app.ts"
    assert only("no, it belongs into /etc/hosts.conf").scope == "repo"


def test_a_correction_names_what_the_assistant_did() -> None:
    learning = only("No, use the existing client.")
    assert learning.kind == "correction"
    assert [(e.author, e.event_id) for e in learning.evidence] == [("user", "e3"), ("assistant", "e2")]


def test_there_is_nothing_to_correct_before_the_assistant_has_worked() -> None:
    session = session_doing((Step(user="don't use confirm(), just prompt()"),))
    assert extract_session(session).learnings == []


def test_what_is_forbidden_takes_what_is_right_with_it() -> None:
    assert only("no, don't mock the client. mock the transport it uses").text == (
        "don't mock the client. mock the transport it uses"
    )
    assert only("The timeout is wrong. It should be 30 seconds.").text == (
        "The timeout is wrong. It should be 30 seconds."
    )


def test_remember_that_takes_the_sentence_before() -> None:
    assert only("We release from the stable branch. Please remember that.").text == (
        "We release from the stable branch."
    )
    assert said("Is it released from the stable branch? Please remember that.") == []


@pytest.mark.parametrize(
    ("text", "priority"),
    [
        ("remind me to rotate the deploy key", ""),
        ("Urgent: remind me to rotate the deploy key", "urgent"),
        ("Important! Remind me to rotate the deploy key", "high"),
        ("Dringend: erinnere mich daran, den Schlüssel zu tauschen", "urgent"),
    ],
)
def test_an_action_has_the_priority_that_words_give_it(text: str, priority: str) -> None:
    action = only(text)
    assert (action.kind, action.priority) == ("action", priority)


def test_a_service_of_this_machine_is_a_fact() -> None:
    assert only("The mock API listens on port 8089.").kind == "fact"
    assert "http://localhost:5173" in only("the dev server runs at http://localhost:5173/").text
    assert said("why does the dev server run at http://localhost:5173?") == []


def test_said_twice_it_is_one_learning_with_more_evidence() -> None:
    steps = (Step(user="go"), Step(assistant="Done."), Step(user="always use tabs"), Step(user="Always use tabs."))
    (learning,) = extract_session(session_doing(steps)).learnings
    assert [e.event_id for e in learning.evidence] == ["e3", "e4"]
    assert learning.confidence > only("always use tabs").confidence


@pytest.mark.parametrize(
    "text",
    [
        "Should we always use tabs?",
        "maybe we should use tabs instead of spaces",
        "> always use tabs\nwhat do they mean by that",
        "```\nremember: always use tabs\n```\nwhat is this comment",
        "The style guide says: always use tabs.",
        "The reviewer wrote \"no, use tabs instead\" and left.",
        "I always get an error there",
        "no idea",
        "You are a coding agent. Always use tabs. Never use spaces.",
        "<task>always use tabs</task>",
        "",
        "remember",
        "no,",
    ],
)  # fmt: skip
def test_questions_thoughts_quotations_and_prompts_teach_nothing(text: str) -> None:
    assert said(text) == []


def test_a_long_description_teaches_only_what_is_asked_to_be_kept() -> None:
    lines = [f"The page number {n} shows the items of a customer and their prices." for n in range(16)]
    text = "\n\n".join([*lines, "Don't use confirm(), just prompt().", "Remember that prices are in cents."])
    assert [x.text for x in said(text)] == ["prices are in cents."]


def test_the_number_from_one_message_is_bounded() -> None:
    text = " ".join(f"Remember that shop {n} opens at {n} o'clock." for n in range(9))
    assert len(said(text)) == 4


def test_only_words_of_a_person_are_read() -> None:
    injected = session_doing((Step(assistant="Done."), Step(user="always use tabs", injected=True)))
    by_assistant = session_doing(
        (Step(user="go"), Step(assistant="Remember: always use tabs. No, use spaces."), Step(user="ok"))
    )
    by_tool = session_doing((Step(user="go"), Step(run="cat notes.txt", output="remember: always use tabs")))
    for session in (injected, by_assistant, by_tool):
        assert extract_session(session).learnings == []


def test_subagents_and_our_own_sessions_teach_nothing_said() -> None:
    import msgspec

    whole = session_saying("always use tabs")
    for change in ({"parent_session": "claude:other"}, {"originator": "recollect"}):
        session = WrittenSession(msgspec.structs.replace(whole.session, **change), whole.events)
        assert extract_session(session).learnings == []
    aside = [msgspec.structs.replace(event, is_sidechain=True) for event in whole.events]
    assert extract_session(WrittenSession(whole.session, aside)).learnings == []


def test_recalled_text_in_a_message_is_not_learned_again() -> None:
    assert said("<recollect-memory>\nalways use tabs\n</recollect-memory>\nthanks, go on") == []
