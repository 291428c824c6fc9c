"""What people say becomes learnings of the right kind and place, with evidence that names their words."""

from __future__ import annotations

import pytest

from recollect.ingest.learnings.rule_extractor import extract_session
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


def test_a_preference_holds_everywhere_only_where_it_is_said_so() -> None:
    for text in ("In all my projects, always use uv.", "Always use uv, no matter which project.",
                 "Across all repos always sign commits."):  # fmt: skip
        assert (only(text).scope, only(text).repo) == ("user", "")
    assert only("always answer in English").scope == "repo"
    assert only("use UTC timestamps in all modules everywhere").scope == "repo"
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


def test_what_tells_a_credential_is_no_evidence() -> None:
    for before in (
        "I have done that. The password is [REDACTED:password:0123abcd].",
        "I have done that, pw Tulip_22x.",
    ):
        (learning,) = extract_session(session_saying("No, use the existing client.", before)).learnings
        assert [(e.author, e.event_id) for e in learning.evidence] == [("user", "e3")]


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
    "text",
    [
        "Remember that please.", "this for next time", "I prefer the second one", "I prefer that.",
        "Keep that in mind.", "Never do that again.", "Always run it.", "No, use the other one.",
        "Don't use it in production.",
        "remind me about that tomorrow", "It needs Docker 26, remember that.", "always do it like this",
        "Merk dir das bitte.", "Ich bevorzuge das zweite.", "Mach das immer so.", "Nein, nimm das andere.",
    ],
)  # fmt: skip
def test_what_makes_no_sense_by_itself_is_not_learned(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "those additions are also good, but what I actually meant are the tests in e2e_test",
        "dimGray should be that, not linkGray",
        "No, that helper should move to utils/.",
    ],
)
def test_a_correction_that_points_at_its_own_moment_is_not_learned(text: str) -> None:
    assert said(text) == []


def test_a_correction_that_points_takes_the_sentence_before_that_says_at_what() -> None:
    text = "The footer holds the version number. This should be read from package.json, not hard-coded."
    assert only(text).text == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The staging database is on port 5544. Remember that please.", "The staging database is on port 5544."),
        ("Deploys need the VPN. Keep this in mind for next time, please.", "Deploys need the VPN."),
        ("The e2e tests need Docker 26, remember that.", "The e2e tests need Docker 26"),
        ("Für Deploys braucht man das VPN. Behalte das im Kopf.", "Für Deploys braucht man das VPN."),
        ("When you add a module, always document it.", "When you add a module, always document it."),
        ("Never force-push.", "Never force-push."),
    ],
)
def test_what_is_to_be_remembered_is_the_fact_before_it(text: str, kept: str) -> None:
    assert only(text).text == kept


def meant(*said: tuple[str, str]) -> list[tuple[str, str]]:
    """Return what "remember that" after some messages teaches, with who said it."""
    steps = [Step(user=text) if who == "user" else Step(assistant=text) for who, text in said]
    found = extract_session(session_doing([*steps, Step(user="Remember that please.")])).learnings
    return [(one.text, one.evidence[0].author) for one in found]


def test_remember_that_alone_means_what_the_user_or_the_assistant_stated_before_as_whose_words_it_is() -> None:
    stated, asked = ("user", "The nightly job runs at 02:00 UTC."), ("user", "When does the nightly job run?")
    answered = ("assistant", "The nightly job runs at 02:00 UTC.")
    assert meant(stated, ("assistant", "Okay.")) == [("The nightly job runs at 02:00 UTC.", "user")]
    assert meant(asked, answered) == [("The nightly job runs at 02:00 UTC.", "assistant")]
    assert meant(asked, ("assistant", "I see three jobs. Which one?")) == []
    assert meant(stated, ("assistant", "The backup job is at noon.")) == []  # either may be meant
    assert meant(("user", "fix the failing test"), ("assistant", "Done.")) == []


@pytest.mark.parametrize(
    "text",
    [
        "Bob said always squash commits.",
        "My manager told me to never deploy on Fridays.",
        "Bob meinte, wir sollen immer Tabs verwenden.",
        "From: Alice\nTo: Bob\nSubject: builds\n\nPlease always tag the builds.",
        "Hi team,\nplease always use the VPN when you connect.\nBest regards,\nAlice",
    ],
)
def test_others_words_and_mails_are_not_the_users(text: str) -> None:
    assert said(text) == []


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
