"""How sessions came out: each class, and the reason it was derived from."""

from __future__ import annotations

import pytest

from recollect.model.payloads import AssistantMessage, Rewind, SessionEnd
from tests.insights.signals.stories import Story

REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def outcome(story: Story) -> str:
    digest = story.digest()
    assert digest.outcome_reasons, "an outcome has a reason"
    assert all(reason for reason in digest.outcome_reasons)
    assert (digest.outcome == "abandoned") == (digest.signals.get("abandoned") == 1)
    return digest.outcome


def worked() -> Story:
    story = Story()
    story.asks("fix the login")
    story.edits()
    return story


def test_work_closed_by_a_reply_is_a_success() -> None:
    story = worked()
    story.says("Fixed.")
    assert outcome(story) == "success"
    assert story.digest().outcome_reasons[0] == "a reply closes the last request after its work: “Fixed.”"


def test_an_answered_question_is_a_success() -> None:
    story = Story()
    story.asks("what does main do?")
    story.says("It parses the arguments.")
    assert outcome(story) == "success"


def test_thanks_at_the_end_are_a_success_and_the_first_reason() -> None:
    story = worked()
    story.says("Fixed.")
    story.asks("great, thanks!")
    assert outcome(story) == "success"
    assert story.digest().outcome_reasons[0] == "the person accepts: “great, thanks!”"


ACCEPTED = [
    "fine",
    "Good!",
    "good. We'll look at fuzzy matching some other time.",
    "ok, and later we add the export",
    "that's fine",
    "all good",
    "good enough for now",
    "passt",
    "gut so, danke",
    "In Ordnung. Den Rest morgen.",
    "great. Next week we add the export",
    "super, danke! mach weiter so",
]
ASKED = [
    "fine tune the model",
    "good morning",
    "good, now add a test",
    "good catch, revert the last change",
    "passt nicht",
    "gut, jetzt die Tests",
    "fine, but the button is still red",
    "good. Please commit it",
]


@pytest.mark.parametrize(
    ("said", "came_out"), [*((s, "success") for s in ACCEPTED), *((s, "abandoned") for s in ASKED)]
)
def test_a_last_message_abandons_nothing_only_if_it_accepts(said: str, came_out: str) -> None:
    story = worked()
    story.says("Fixed.")
    story.asks(said)
    assert outcome(story) == came_out


def test_a_long_farewell_without_a_request_abandons_nothing() -> None:
    story = worked()
    story.says("Fixed.")
    story.asks(
        "perfect, that is what I had in mind from the very start, and the customers will be so much happier with it "
        "than with the old page. Thanks a lot for your patience today, I'm off now. Bye!"
    )
    assert outcome(story) == "success"


@pytest.mark.parametrize("more", ["Now what about the export?", "Next, let parse_export() read the header."])
def test_a_request_behind_an_approval_that_nobody_answers_is_abandoned(more: str) -> None:
    story = worked()
    story.says("Fixed.")
    story.asks(f"great, thanks. {more}")
    assert outcome(story) == "abandoned"


def test_the_last_test_run_counts() -> None:
    story = worked()
    story.runs("pytest", "1 failed in 0.1s", exit_code=1)
    story.edits()
    story.runs("pytest", "1 passed in 0.1s")
    story.says("All tests pass.")
    assert outcome(story) == "success"
    assert story.digest().outcome_reasons[0] == "the last test run passes: “pytest”"


def test_a_failing_last_test_run_is_a_failure() -> None:
    story = worked()
    story.runs("pytest", "2 failed in 0.1s", exit_code=1)
    story.says("These failures were there before.")
    assert outcome(story) == "fail"
    assert story.digest().outcome_reasons == ("the last test run fails, 2 failed: “pytest”",)


def test_a_failing_build_at_the_end_is_a_failure() -> None:
    story = worked()
    story.runs("cargo build", "error[E0425]: cannot find value", exit_code=101)
    story.says("Hm.")
    assert outcome(story) == "fail"


def test_a_failure_that_was_worked_on_afterwards_is_none() -> None:
    story = worked()
    story.runs("pytest", "2 failed in 0.1s", exit_code=1)
    story.edits()
    story.says("Corrected.")
    assert outcome(story) == "success"


def test_a_failure_of_an_earlier_request_is_forgotten() -> None:
    story = worked()
    story.runs("pytest", "2 failed in 0.1s", exit_code=1)
    story.says("It fails.")
    story.asks("leave that. what is in the readme?")
    story.says("A short introduction.")
    assert outcome(story) == "success"


def test_an_api_error_that_ended_it_is_a_failure() -> None:
    story = Story()
    story.asks("fix it")
    story.notes("api_error", "Rate limit exceeded")
    assert outcome(story) == "fail"
    assert story.digest().outcome_reasons == ("the last request ended in a failure: “Rate limit exceeded”",)


def test_an_api_error_that_was_got_over_is_none() -> None:
    story = worked()
    story.notes("api_error", "overloaded")
    story.says("Fixed.")
    assert outcome(story) == "success"


@pytest.mark.parametrize(
    "text",
    [
        "litellm.AuthenticationError: no key",
        "The LLM did not conform to the edit format.",
        "Model m-1 has hit a token limit!",
        "You have reached your usage limit.",
        "Maximum session turns exceeded.",
    ],
)
def test_a_failure_that_is_only_printed_after_the_reply_is_a_failure(text: str) -> None:
    story = Story()
    story.asks("translate it all")
    story.says("Voici la traduction")
    story.notes("notice", f"Tokens: 8k sent.\n{text}")
    assert outcome(story) == "fail"


def test_a_program_that_broke_down_instead_of_answering_has_failed() -> None:
    story = Story()
    story.asks("translate it all")
    story.notes("notice", "Unexpected error: RequestError.__init__() missing 1 argument")
    assert outcome(story) == "fail"


def test_an_error_that_is_only_printed_beside_the_answer_is_none() -> None:
    story = worked()
    story.says("Fixed.")
    story.notes("notice", "lint:\nSyntaxError: invalid syntax")
    assert outcome(story) == "success"


@pytest.mark.parametrize(
    "reply",
    [
        "I was unable to install it: the server refuses the download.",
        "Unfortunately, I can't do this without the password.",
        "I'm sorry, but I could not reproduce the crash.",
    ],
)
def test_an_agent_that_says_it_could_not_has_failed(reply: str) -> None:
    story = worked()
    story.says(reply)
    assert outcome(story) == "fail"


def test_an_agent_that_offers_something_else_has_answered() -> None:
    story = Story()
    story.asks("give me the link")
    story.says("I cannot give you a link, but here is the file: index.html.")
    assert outcome(story) == "success"


def test_a_message_without_a_reply_is_abandoned() -> None:
    story = worked()
    story.says("Fixed.")
    story.asks("and now the logout")
    assert outcome(story) == "abandoned"
    assert story.digest().outcome_reasons == ("the last human message has no reply: “and now the logout”",)


def test_an_interrupt_with_nothing_after_it_is_abandoned() -> None:
    story = worked()
    story.notes("interrupted", "[Request interrupted by user]")
    assert outcome(story) == "abandoned"


def test_a_reply_cut_off_by_an_interrupt_is_abandoned() -> None:
    story = Story()
    story.asks("translate it")
    story.notes("interrupted", "^C again to exit")
    story.says("Voici la trad")
    assert outcome(story) == "abandoned"


def test_leaving_the_program_after_the_reply_is_a_success() -> None:
    story = worked()
    story.says("Fixed.")
    story.notes("interrupted", "^C again to exit")
    story.notes("interrupted", "^C KeyboardInterrupt")
    assert outcome(story) == "success"


def test_a_refused_call_with_nothing_after_it_is_abandoned() -> None:
    story = Story()
    story.asks("push it")
    story.gets(story.calls("Bash", {"command": "git push -f"}), REJECTED, ok=False)
    assert outcome(story) == "abandoned"
    assert story.digest().outcome_reasons == ("a refused call of shell and nothing after it",)


def test_a_refused_call_that_was_answered_is_a_success() -> None:
    story = Story()
    story.asks("push it")
    story.gets(story.calls("Bash", {"command": "git push -f"}), REJECTED, ok=False)
    story.says("Then I leave it unpushed; the commit is ready.")
    assert outcome(story) == "success"


def test_a_call_without_a_result_is_abandoned() -> None:
    story = worked()
    story.calls("Bash", {"command": "git add ."})
    assert outcome(story) == "abandoned"
    assert "(shell git add) has no result" in story.digest().outcome_reasons[0]


def test_a_long_target_is_cut_visibly() -> None:
    story = worked()
    story.calls("Read", {"file_path": f"/w/{'deep/' * 20}notes.md"})
    assert "…) has no result" in story.digest().outcome_reasons[0]


def test_work_without_a_closing_reply_is_abandoned() -> None:
    assert outcome(worked()) == "abandoned"


@pytest.mark.parametrize(
    "reply", ["The installer ran. I'll confirm it by launching the program.", "Okay, I will use choco."]
)
def test_a_last_reply_that_only_announces_work_is_abandoned(reply: str) -> None:
    story = Story()
    story.asks("install it")
    story.runs("pip install x", "error: no", exit_code=1)
    story.says(reply)
    assert outcome(story) == "abandoned"


@pytest.mark.parametrize(
    "reply", ["Done. I'll be here if you need more.", "Shall I go on?", "Let me know if it works."]
)
def test_a_polite_end_announces_nothing(reply: str) -> None:
    story = worked()
    story.says(reply)
    assert outcome(story) == "success"


@pytest.mark.parametrize("words", ["never mind", "no", "cancel that", "vergiss es", "算了"])
def test_a_person_who_turns_away_has_abandoned_it(words: str) -> None:
    story = worked()
    story.says("I would now rewrite everything.")
    story.asks(words)
    story.says("Okay.")
    assert outcome(story) == "abandoned"


def test_a_change_that_was_undone_is_abandoned() -> None:
    story = worked()
    story.says("Fixed.")
    story.asks("/diff", "command")
    story.asks("/undo", "command")
    story.add(Rewind())
    assert outcome(story) == "abandoned"


@pytest.mark.parametrize("command", ["/exit", "/clear", "/model opus"])
def test_a_command_after_the_reply_changes_nothing(command: str) -> None:
    story = worked()
    story.says("Fixed.")
    story.asks(command, "command")
    assert outcome(story) == "success"


def test_a_session_that_the_agent_ended_needs_no_reply() -> None:
    story = worked()
    story.add(SessionEnd("submitted"))
    assert outcome(story) == "success"


@pytest.mark.parametrize("name", ["finish", "attempt_completion"])
def test_a_tool_by_which_the_model_says_that_it_is_done_is_a_reply(name: str) -> None:
    story = worked()
    story.calls(name, {"message": "All done."})
    assert outcome(story) == "success"
    assert "“All done.”" in story.digest().outcome_reasons[0]


def test_nothing_asked_is_unknown() -> None:
    story = Story()
    story.starts()
    story.notes("notice", "an update is there")
    assert outcome(story) == "unknown"


def test_commands_alone_are_unknown() -> None:
    story = Story()
    story.asks("/diff", "command")
    story.notes("notice", "no changes")
    assert outcome(story) == "unknown"


def test_a_greeting_is_unknown() -> None:
    story = Story()
    story.asks("hi")
    story.says("Hello! What can I do for you?")
    assert outcome(story) == "unknown"


@pytest.mark.parametrize("text", ["Warmup", "hi", "ping"])
def test_a_warm_up_has_no_outcome_however_it_ended(text: str) -> None:
    story = Story()
    story.starts()
    story.asks(text)
    assert outcome(story) == "unknown"
    story.notes("api_error", "overloaded")
    assert outcome(story) == "unknown"


def test_a_history_of_prompts_is_unknown() -> None:
    story = Story()
    story.asks("fix the login")
    story.asks("now the logout")
    assert outcome(story) == "unknown"
    story.starts()
    assert outcome(story) == "abandoned"


def test_a_reply_that_nobody_asked_for_is_unknown() -> None:
    story = Story()
    story.starts()
    story.says("I'm ready to help. What would you like to explore?", message_id="m1")
    assert outcome(story) == "unknown"


def test_work_without_a_request_is_judged_as_work() -> None:
    story = Story()
    story.asks("find the tests", "injected")
    story.runs("ls")
    story.says("They are in tests/.")
    assert outcome(story) == "success"


def test_no_events_are_unknown() -> None:
    assert outcome(Story()) == "unknown"


def test_a_side_chain_does_not_close_the_main_line() -> None:
    story = Story()
    story.asks("look around")
    story.calls("Task", {"prompt": "look"})
    story.add(AssistantMessage("I found it."), is_sidechain=True)
    assert outcome(story) == "abandoned"
