"""What commands teach: what works, what made it work again, versions, names of tests, what is left to do."""

from __future__ import annotations

import msgspec
import pytest

from recollect.ingest.learnings.rule_extractor import extract_session
from recollect.insights.commands import simple_commands
from recollect.insights.learnings.extraction.purposes import purposeful
from recollect.model.events import Event
from recollect.model.learnings.learnings import Learning
from recollect.model.payloads import ToolResult
from tests.insights.decisions.stories import decided
from tests.quality.learned import Step, WrittenSession, session_doing


def learned(*steps: Step) -> list[Learning]:
    return extract_session(session_doing((Step(user="go on"), *steps))).learnings


def texts(*steps: Step) -> list[str]:
    return [one.text for one in learned(*steps)]


def forms(command: str) -> list[tuple[str, str]]:
    commands = simple_commands(command)
    return [(one.purpose, one.text) for one in purposeful(commands)]


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("FOO=1 timeout 60 uv run pytest tests/test_a.py -q -k one", [("test", "uv run pytest")]),
        ("/usr/local/bin/python3 -m pytest -x", [("test", "python3 -m pytest")]),
        ("npx vitest run src/a.test.ts", [("test", "npx vitest run")]),
        ("mise exec -- golangci-lint run ./...", [("lint", "mise exec -- golangci-lint run")]),
        ("mise run fmt && mise run lint", [("format", "mise run fmt"), ("lint", "mise run lint")]),
        ("npm --prefix web run test:unit", [("test", "npm --prefix web run test:unit")]),
        ("make -C api check", [("lint", "make -C api check")]),
        ("make", [("build", "make")]),
        ("go test ./... -run TestX", [("test", "go test")]),
        ("cargo check && cargo clippy", [("typecheck", "cargo check"), ("lint", "cargo clippy")]),
        ("bash scripts/test.sh --fast", [("test", "bash scripts/test.sh")]),
        ("pytest --version", []),
        ("npm install -g typescript", []),
        ("git commit -m 'run the tests with make test'", []),
        ("echo make test", []),
        ("cat Makefile | grep test", []),
    ],
)
def test_the_canonical_form_leaves_out_what_it_is_run_on(command: str, found: list[tuple[str, str]]) -> None:
    assert forms(command) == found


def test_what_passes_more_often_is_surer() -> None:
    once = learned(Step(run="make lint"))[0]
    often = learned(*[Step(run="make lint")] * 4)[0]
    assert (once.text, once.id) == (often.text, often.id) == ("Lint runs with `make lint`.", once.id)
    assert often.confidence > once.confidence
    assert len(often.evidence) == 4
    assert {e.author for e in often.evidence} == {"assistant"}


@pytest.mark.parametrize(
    "step",
    [
        Step(run="make lint", exit=1, output="3 problems"),
        Step(run="make lint || true", output="3 problems"),
        Step(run="make lint; echo done"),
        Step(run="make lint | tail -3", output="3 problems"),
        Step(run="make lint &"),
        Step(run="make lint", exit=None, output="The user doesn't want to proceed with this tool use."),
    ],
)
def test_what_nobody_knows_to_have_passed_teaches_nothing(step: Step) -> None:
    assert texts(step) == []


def test_tests_that_fail_in_their_output_did_not_pass() -> None:
    assert texts(Step(run="pytest -q | tail -3", output="1 failed, 2 passed in 0.1s")) == []
    assert texts(Step(run="pytest -q | tail -3", output="3 passed in 0.1s")) == ["Tests run with `pytest`."]


def test_a_fix_is_the_command_between_failure_and_success() -> None:
    found = learned(
        Step(run="npm run build", exit=1, output="Error: Cannot find module 'vite'"),
        Step(run="ls node_modules"),
        Step(run="npm ci", output="added 210 packages"),
        Step(run="npm run build"),
    )
    (fix,) = [one for one in found if "failed" in one.text]
    assert fix.text == "`npm run build` failed: \"Error: Cannot find module 'vite'\". It passed after `npm ci`."
    assert [e.author for e in fix.evidence] == ["tool", "assistant", "assistant"]


def test_a_fix_is_the_file_that_was_edited() -> None:
    failed = Step(run="make lint", exit=1, output="app.py:3:1: F401 `os` imported but unused")
    assert texts(failed, Step(edit="app.py"), Step(run="make lint"))[1].endswith(
        "It passed after a change of `app.py`."
    )
    many = [Step(edit=f"app{n}.py") for n in range(3)]
    assert texts(failed, *many, Step(run="make lint")) == ["Lint runs with `make lint`."]


def test_without_a_success_there_is_no_fix() -> None:
    assert texts(Step(run="make lint", exit=1, output="Error: broken"), Step(edit="app.py")) == []


def test_code_that_was_being_written_teaches_no_fix() -> None:
    steps = (
        Step(run="pytest", exit=1, output="E   assert 1 == 2\n1 failed in 0.1s"),
        Step(edit="app.py"),
        Step(run="pytest", output="1 passed in 0.1s"),
    )
    assert texts(*steps) == ["Tests run with `pytest`."]


def test_another_form_that_works_is_learned_where_the_first_is_not_there() -> None:
    steps = (
        Step(run="pytest", exit=127, output="bash: pytest: command not found"),
        Step(run="uv run pytest", output="1 passed in 0.1s"),
    )
    assert texts(*steps)[1] == '`pytest` failed: "bash: pytest: command not found". `uv run pytest` works.'


def test_a_version_is_quoted_as_the_tool_printed_it() -> None:
    (fact,) = learned(Step(run="node --version", output="v22.3.0\n"))
    assert (fact.kind, fact.text) == ("fact", '`node --version` printed "v22.3.0".')
    assert fact.evidence[0].author == "tool"
    assert texts(Step(run="grep -v version x", output="1.2.3")) == []
    assert texts(Step(run="node --version", exit=1, output="1.2.3")) == []


def test_a_manifest_states_versions_for_its_file() -> None:
    (fact,) = learned(Step(read="api/go.mod", output="     1\u2192module shop\n     3\u2192go 1.23\n"))
    assert (fact.scope, fact.path, fact.text) == ("path", "api/go.mod", "`api/go.mod` says: go 1.23")
    assert texts(Step(read="vendor/x/go.mod", output="go 1.2")) == []


@pytest.mark.parametrize(
    "later",
    [
        [Step(assistant="Next steps: draw the delivery states.")],
        [Step(user="Commit."), Step(assistant="Next steps: deploy the old service of the invoice.")],
        [Step(user="Plan?"), Step(assistant="Next steps:\n" + "\n".join(f"- plan part {n}" for n in "123456"))],
    ],
)
def test_what_is_left_to_do_is_not_lost_where_a_later_message_lists_next_steps(later: list[Step]) -> None:
    left = Step(assistant="It retries. Still to do: the migration of old invoices, I left it for tomorrow.")
    assert "the migration of old invoices" in texts(left, *later)


@pytest.mark.parametrize(
    ("asked", "left", "count"),
    [
        ("Leave the dead-letter queue for tomorrow.", "the dead-letter queue for deliveries that failed", 1),
        ("Remind me to rotate the staging key.", "rotate the staging key, which expires on Friday", 1),
        ("Don't forget to migrate the old invoices later.", "migrate the old invoices", 1),
        ("TODO: migrate the old invoices", "migrate all old invoices", 1),
        ("We still have to document the retry limit.", "move the retry limit into the settings", 2),
    ],
)
def test_what_the_person_and_the_agent_leave_to_do_is_one_action(asked: str, left: str, count: int) -> None:
    steps = [Step(user=asked), Step(assistant=f"Fine. Left for tomorrow: {left}.")]
    for order in (steps, steps[::-1])[: 3 - count]:
        found = [one.text for one in learned(*order) if one.kind == "action"]
        assert len(found) == count, found


def test_what_is_left_to_do_is_an_action_unless_the_session_takes_it_up() -> None:
    last = Step(assistant="It works.\n\n**Remaining work:**\n1. Rebuild the index (urgent)\n2. [x] Add tests\n\nBye.")
    (action,) = learned(last)
    assert (action.kind, action.text, action.priority) == ("action", "Rebuild the index (urgent)", "urgent")
    assert action.evidence[0].author == "assistant"
    assert [one.text for one in learned(last, Step(user="thanks"))] == ["Rebuild the index (urgent)"]
    assert learned(last, Step(user="yes, go on")) == []
    assert learned(last, Step(user="Thanks."), Step(assistant="I have rebuilt the index.")) == []


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Still to do: the migration of the old files, I left it for tomorrow.", "the migration of the old files"),
        ("The export works. Still to do: delete the legacy cron job.", "delete the legacy cron job."),
        ("Noch zu tun: die alten Dateien migrieren, das habe ich gelassen.", "die alten Dateien migrieren"),
    ],
)
def test_a_sentence_that_says_what_was_put_off_is_an_action(said: str, text: str) -> None:
    assert [(one.kind, one.text) for one in learned(Step(assistant=said))] == [("action", text)]
    (action,) = learned(Step(assistant="It works."), Step(user=said))
    assert (action.kind, action.text) == ("action", text.rstrip("."))


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Done: it waits. Still to do: make the retries configurable, I left it.", "make the retries configurable"),
        ("What remains is the mobile layout; I'll do that tomorrow.", "the mobile layout"),
        ("I did not update the old invoices, those are for next week.", "I did not update the old invoices"),
        ("Was noch fehlt, ist der Import; den mache ich morgen.", "der Import"),
        (
            "Den Export habe ich noch nicht getestet; das kommt nächste Woche.",
            "Den Export habe ich noch nicht getestet",
        ),
        ("It works. I left the migration of old files for tomorrow.", "the migration of old files"),
        ("The tax of part-time people is left for next time.", "The tax of part-time people"),
        ("What is left: the tax of part-time people.", "the tax of part-time people."),
        (
            "It works. What I did not get to: the retry when it is down; that one is for next week.",
            "the retry when it is down",
        ),
        ("It works. The Windows line endings can wait until Petra is back.", "The Windows line endings"),
        (
            "Still open on my side: compacting the folder at boot - I am parking it for Monday.",
            "compacting the folder at boot",
        ),
        ("Done. I haven't updated the changelog yet; will do in the next session.", "I haven't updated the changelog"),
        (
            "It works. Tomorrow I need to wire the logout button to the endpoint.",
            "wire the logout button to the endpoint",
        ),
        ("Finished. Next steps: rename the keys and drop the flag.", "rename the keys and drop the flag."),
        ("One loose end: the flaky test in test_sync.py.", "the flaky test in test_sync.py."),
        ("I postponed the cleanup of the temp folders to the next release.", "the cleanup of the temp folders"),
        ("We didn't get to the German translation.", "the German translation"),
    ],
)
def test_the_last_words_put_something_off_in_a_sentence(said: str, text: str) -> None:
    assert [(one.kind, one.text) for one in learned(Step(assistant=said))] == [("action", text)]
    assert learned(Step(assistant=said), Step(user="ok, do it")) == []


@pytest.mark.parametrize(
    "said",
    [
        "Three specs are skipped for now and need to be re-enabled once the broker is back.",
        "You will still have to run the backfill on production yourself, I have no access there.",
        "The retries are in place, but the backoff remains to be done.",
        "I left a TODO in lexer.rs to handle raw strings; we should come back to it.",
        "Il faudra encore corriger la pagination plus tard.",
        "Queda pendiente actualizar el certificado del proxy.",
    ],
)
def test_a_sentence_that_says_unfinished_and_that_it_has_to_be_done_is_an_action(said: str) -> None:
    done = Step(assistant=f"The export works. {said}")
    assert [(one.kind, one.text) for one in learned(done)] == [("action", said)]
    assert [one.text for one in learned(done, Step(user="What does the lexer read first?"))] == [said]
    assert [one.kind for one in learned(Step(assistant="It works."), Step(user=said))] == ["action"]


@pytest.mark.parametrize(
    "said",
    [
        "The worker still has the same id after a restart.",
        "Users have to be logged in before the export starts.",
        "If we moved the queue later, we would need to rewrite the consumer.",
        "The migration ran this morning; no further steps need to be done.",
        "Once the call has returned, you have to spawn a fresh one.",
    ],
)
def test_what_software_does_or_might_need_is_no_action(said: str) -> None:
    assert learned(Step(assistant=said)) == []


@pytest.mark.parametrize(
    "said",
    [
        "I left it for later.",
        "There are two columns left for later joins.",
        "The worker can wait for the lock.",
        "I moved the handler to the next module.",
        "I saved the file for later use.",
        "I kept the old name for now.",
        "I haven't found the cause yet.",
    ],
)
def test_last_words_that_put_nothing_off(said: str) -> None:
    assert learned(Step(assistant=said)) == []


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("TODO: add a rate limit to the login route", "add a rate limit to the login route"),
        ("ok, todo - rename the staging bucket", "rename the staging bucket"),
        ("What remains: the migration of the audit table.", "the migration of the audit table"),
        ("Leftover for Monday: tidy the fixtures", "tidy the fixtures"),
        ("next time: split the worker module", "split the worker module"),
        ("We'll do the retries tomorrow.", "do the retries"),
        ("Park the flaky test; we will pick it up tomorrow", "Park the flaky test; we will pick it up tomorrow"),
        ("Was noch fehlt: die Doku des Exports", "die Doku des Exports"),
        ("Nächste Woche müssen wir noch die Sitzungen nach Redis umziehen.", "die Sitzungen nach Redis umziehen"),
    ],
)
def test_what_a_person_leaves_to_do_is_an_action_and_no_decision(said: str, text: str) -> None:
    (action,) = learned(Step(assistant="It works."), Step(user=said))
    assert (action.kind, action.text, action.status) == ("action", text, "derived")
    assert decided(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "Remaining: 12 of 40 files processed, 3 errors.",
        "Next steps: implement the parser, then run the tests.",
        "Next time the job runs it picks up the new config.",
        "I'll be back tomorrow with the figures.",
        "If the driver is ready we can migrate the table tomorrow.",
    ],
)
def test_a_person_who_orders_reports_or_supposes_leaves_nothing_to_do(said: str) -> None:
    assert [one for one in learned(Step(assistant="It works."), Step(user=said)) if one.kind == "action"] == []


@pytest.mark.parametrize(
    "said",
    ["I left it for tomorrow.", "I left my laptop at home for tomorrow.", "Still to do: nothing.", "Still to do?"],
)
def test_what_names_nothing_to_do_is_no_action(said: str) -> None:
    assert learned(Step(assistant="It works."), Step(user=said)) == []


class _Light:
    """A session whose long strings come only when asked for, as the store gives it."""

    def __init__(self, whole: WrittenSession) -> None:
        self.session = whole.session
        self.events = [_without_text(event) for event in whole.events]
        self._whole = {event.event_id: event for event in whole.events}
        self.loaded: list[str] = []

    def load(self, event: Event) -> Event:
        self.loaded.append(event.event_id)
        return self._whole[event.event_id]


def _without_text(event: Event) -> Event:
    if isinstance(event.payload, ToolResult) and len(event.payload.text) >= 2048:
        return msgspec.structs.replace(event, payload=msgspec.structs.replace(event.payload, text=""))
    return event


def test_light_events_teach_the_same_and_few_are_loaded() -> None:
    noise = "\n".join(f"line {n} of something long that was printed" for n in range(80))
    whole = session_doing(
        (
            Step(user="go on"),
            Step(run="cat big.txt", output=noise),
            Step(run="npm run build", exit=1, output=f"{noise}\nError: Cannot find module 'vite'"),
            Step(run="npm ci", output=noise),
            Step(run="npm run build", output=noise),
            Step(run="npm test | tail -90", output=f"{noise}\nTests: 3 passed, 3 total"),
        )
    )
    light = _Light(whole)
    assert extract_session(light).learnings == extract_session(whole).learnings
    assert len(extract_session(whole).learnings) == 4
    assert len(set(light.loaded)) == 2
