"""A decision is bound to the edits that carry it out, and to no others."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from recollect.insights.decisions.bindings import MAX_EPISODES, PathAndTimeBinder
from recollect.insights.episodes import EditGrouper
from recollect.insights.session_events import SessionEvents, evidence_of
from recollect.model.events import Event
from recollect.model.insights.nodes import Binding, Conversation, Decision, Evidence, Polarity, node_id
from recollect.model.payloads import FileEdit
from recollect.model.undone import marked
from tests.insights.episodes.stories import Story, decided


def bound(story: Story, decisions: Sequence[Decision], talk: Sequence[Conversation] = ()) -> list[Binding]:
    stream = SessionEvents(marked(story.stream().events)).kept
    return PathAndTimeBinder().bindings(stream, talk, decisions, EditGrouper().episodes(stream, ()))


def conversation(*events: Event) -> Conversation:
    """Return the conversation of messages, the whole of each."""
    text = "\n\n".join(getattr(e.payload, "text", "") for e in events)
    return Conversation(
        id=node_id("conversation", events[0].session_uid, events[0].event_id), session_uid=events[0].session_uid,
        location=events[0].location, ts=events[-1].ts, turn_index=events[-1].turn_index, status="observed", text=text,
        evidence=tuple(evidence_of(e, "statement") for e in events),
    )  # fmt: skip


def test_an_option_that_the_next_edit_writes_is_what_it_carries_out() -> None:
    story = Story()
    decision = decided(
        story.human("use a RingBuffer for the log, not a list"), chosen=("RingBuffer",), rejected=("a list",)
    )
    edit = story.edits("log.py", "self.lines = ring_buffer(100)", "self.lines = []")
    (binding,) = bound(story, [decision])
    assert (binding.source, binding.relation, binding.status) == (decision.id, "produced", "derived")
    assert binding.features == {"same_turn": 0.25, "nearest": 0.10, "option_written": 0.35, "sole": 0.25}
    assert binding.confidence == 0.95
    assert (binding.t_use, binding.t_gen) == (decision.ts, edit.ts)
    assert binding.used_session == binding.generated_session == story.uid
    assert binding.location == edit.location
    assert [(e.role, e.event_id) for e in binding.evidence] == [("edit", edit.event_id), ("statement", "e0")]


def test_a_path_that_is_named_is_enough_in_the_next_turn_too_but_not_for_ever() -> None:
    story = Story()
    decision = decided(story.human("the retries go into net/client.py"), chosen=("a retry",))
    story.human("now do it")
    edit = story.edits("/w/shop/net/client.py", "RETRIES = 3")
    story.human("and another thing in the client, the timeout of the requests")
    story.edits("/w/shop/net/client.py", "TIMEOUT = 3")
    (binding,) = bound(story, [decision])
    assert binding.evidence[0].event_id == edit.event_id
    assert binding.features["path_said"] == 0.50


def test_an_edit_of_something_else_is_not_bound() -> None:
    story = Story()
    decision = decided(story.human("use Postgres for the orders"), chosen=("Postgres",))
    story.human("fix the typo in the readme")
    story.edits("README.md", "the order", "teh order")
    assert bound(story, [decision]) == []


def test_a_word_inside_of_a_path_component_is_no_path() -> None:
    story = Story()
    decision = decided(story.human("put it in utils.py"), chosen=("utils.py",))
    story.human("next")
    story.edits("more_utils.py", "a = 1")
    assert bound(story, [decision]) == []


def test_a_decision_is_never_bound_to_what_was_there_before_it() -> None:
    story = Story(timed=False)
    story.human("write the store")
    story.edits("store.py", "import sqlite3")
    decision = decided(story.human("good, we stay with sqlite3 in store.py"), chosen=("sqlite3",), paths=("store.py",))
    assert bound(story, [decision]) == []


def test_a_time_that_contradicts_the_order_binds_nothing() -> None:
    story = Story()
    said = story.human("use Redis in cache.py")
    story.edits("cache.py", "import redis")
    late = decided(said, chosen=("Redis",), paths=("cache.py",))
    assert bound(story, [late])
    assert bound(story, [msgspec.structs.replace(late, ts=story.events[-1].ts)]) == []


def test_a_correction_is_bound_to_the_edits_behind_it_in_the_same_episode() -> None:
    story = Story()
    story.human("add a cart")
    story.edits("cart.py", "class Cart: pass")
    decision = decided(story.human("no, name it Basket"), chosen=("Basket",))
    second = story.edits("cart.py", "class Basket: pass", "class Cart: pass")
    (binding,) = bound(story, [decision])
    assert binding.evidence[0].event_id == second.event_id


def test_a_later_decision_on_the_same_subject_takes_over() -> None:
    story = Story()
    first = decided(story.human("cache it with Redis"), chosen=("Redis",))
    story.edits("cache.py", "import redis")
    second = decided(
        story.human("no Redis: use Memcached in that place for the cache"), chosen=("Memcached",), rejected=("Redis",)
    )
    story.edits("cache.py", "import memcached", "import redis")
    story.human("and in the tests")
    story.edits("test_cache.py", "import memcached  # no redis")
    found = [(b.source, b.evidence[0].event_id) for b in bound(story, [first, second])]
    edits = [e.event_id for e in story.events if isinstance(e.payload, FileEdit)]
    assert found == [(first.id, edits[0]), (second.id, edits[1])]


def test_what_was_rewound_leads_to_nothing_any_more() -> None:
    story = Story()
    start = story.says("What now?")
    decision = decided(story.human("use Redis in cache.py"), chosen=("Redis",), paths=("cache.py",))
    story.edits("cache.py", "import redis")
    story.rewinds(start)
    story.human("something else")
    story.edits("cache.py", "import redis")
    assert not bound(story, [decision])


def test_a_confirmation_is_bound_to_what_was_proposed() -> None:
    story = Story()
    proposal = story.says("Shall I add a `retry_once` decorator to the client?")
    answer = story.human("yes, do that")
    evidence = (evidence_of(proposal, "proposal"), evidence_of(answer, "confirmation"))
    talk = conversation(proposal, answer)
    decision = decided(answer, chosen=("a decorator",), evidence=evidence, conversation=talk.id)
    story.edits("client.py", "@retry_once\ndef get(): ...")
    (binding,) = bound(story, [decision], [talk])
    assert binding.features == {
        "same_turn": 0.25, "confirmed": 0.25, "nearest": 0.10, "name_in_talk": 0.10, "sole": 0.25
    }  # fmt: skip


def test_an_edit_whose_text_has_nothing_of_the_decision_counts_against_it() -> None:
    story = Story()
    answer = story.human("yes")
    decision = decided(answer, chosen=("a worker pool",), evidence=(evidence_of(answer, "confirmation"),))
    story.edits("README.md", "Typo.")
    assert bound(story, [decision]) == []


def test_the_only_file_that_its_turn_edits_carries_a_decision_out_with_low_confidence() -> None:
    story = Story()
    decision = decided(story.human("sort the list by name before you print it"), chosen=("sort the list by name",))
    story.edits("report.py", "rows.sort(key=title)\nprint(rows)", "print(rows)")
    assert [b.confidence for b in bound(story, [decision])] == [0.60]  # though its text has nothing of the decision
    story = Story()
    decision = decided(story.human("sort the list by name before you print it"), chosen=("sort the list by name",))
    edit = story.edits("report.py", "", "")  # its text is not known
    (binding,) = bound(story, [decision])
    assert (binding.features, binding.confidence) == ({"same_turn": 0.25, "nearest": 0.10, "sole": 0.25}, 0.60)
    assert binding.evidence[0].event_id == edit.event_id
    story.edits("other.py", "", "")
    assert bound(story, [decision]) == []


def test_what_a_person_alone_decides_is_carried_out_by_the_edit_behind_it_in_other_words() -> None:
    def confidences(*said: str) -> list[float]:
        story = Story()
        message = story.human("\n".join(said))
        decisions = [decided(message, chosen=(one,), statement=one) for one in said]
        story.edits("courier/retry.py", "pause = min(60, 2**attempt) * random()", "pause = 1")
        story.edits("tests/test_retry.py", "assert pause(3) > pause(1)", "")
        return [binding.confidence for binding in bound(story, decisions)]

    assert confidences("exponential backoff with jitter") == [0.60]
    assert confidences("exponential backoff", "a dead-letter queue") == []  # it may be of the other one
    assert confidences("exponential backoff in `wait_for`") == []  # what it names is not there


def test_what_the_assistant_says_right_before_it_edits_is_what_it_edits() -> None:
    story = Story()
    story.human("the theme crashes on a broken file")
    decision = decided(story.says("The loader should catch this gracefully."), chosen=("catch this gracefully",))
    edit = story.edits("theme.ts", "try { setTheme(name) } catch {}", "setTheme(name)")
    (binding,) = bound(story, [decision])
    assert binding.features == {"same_turn": 0.25, "nearest": 0.10, "announced": 0.25, "sole": 0.25, "unrelated": -0.2}
    assert (binding.confidence, binding.evidence[0].event_id) == (0.65, edit.event_id)

    story = Story()
    story.human("the theme crashes on a broken file")
    decision = decided(story.says("The loader should catch this gracefully."), chosen=("catch this gracefully",))
    story.says("First the changelog.")
    story.edits("CHANGELOG.md", "- The footer has new colours.", "")
    assert bound(story, [decision]) == []


def test_code_that_was_spoken_of_and_is_not_in_the_edit_speaks_against_the_only_file_too() -> None:
    story = Story()
    story.human("the linter complains")
    words = "I'll add `//nolint:errcheck` comments."
    decision = decided(story.says(words), chosen=("add `//nolint:errcheck` comments",))
    story.edits("hooks.go", "_ = notify(x)", "notify(x)")
    assert bound(story, [decision]) == []
    written = story.edits("hooks.go", "notify(x) //nolint:errcheck", "_ = notify(x)")
    (binding,) = bound(story, [decision])
    assert binding.evidence[0].event_id == written.event_id
    assert binding.features["name_written"] == 0.25


@pytest.mark.parametrize("polarity", ["ban", "reject"])
def test_a_file_that_is_forbidden_is_not_what_a_ban_leads_to(polarity: Polarity) -> None:
    story = Story()
    said = story.human("don't touch config.py")
    decision = decided(said, rejected=("config.py",), polarity=polarity, paths=("config.py",))
    story.edits("config.py", "x = 2", "x = 1")
    assert bound(story, [decision]) == []


def test_a_ban_is_bound_where_the_edit_takes_the_banned_thing_out() -> None:
    story = Story()
    decision = decided(story.human("no lodash any more in `sort_items`"), rejected=("lodash",), polarity="ban")
    story.edits("sort.js", "function sort_items() {}", "const _ = require('lodash'); function sort_items() {}")
    (binding,) = bound(story, [decision])
    assert {"name_written", "rejected_removed"} <= set(binding.features)


def test_an_edit_by_shell_is_bound_by_its_command() -> None:
    story = Story()
    decision = decided(story.human("call it Basket everywhere"), chosen=("Basket",))
    call = story.runs("sed -i 's/Cart/Basket/g' src/app.py")
    (binding,) = bound(story, [decision])
    assert (binding.evidence[0].event_id, binding.evidence[0].role) == (call.event_id, "command")


def test_code_in_an_option_speaks_for_the_edit_that_writes_it_as_it_is() -> None:
    story = Story()
    decision = decided(story.human("replace `Version` by `buildinfo.Version`"), chosen=("`buildinfo.Version`",))
    story.edits("buildinfo/buildinfo.go", 'package buildinfo\n\nvar Version = "dev"')
    second = story.edits("root.go", "track(cmd, buildinfo.Version)", "track(cmd, Version)")
    (binding,) = bound(story, [decision])
    assert binding.evidence[0].event_id == second.event_id
    assert binding.features["option_written"] == 0.35


def test_words_of_an_option_in_one_line_speak_more_than_the_same_words_apart() -> None:
    story = Story()
    decision = decided(story.human("put the link into the page header"), chosen=("page header",))
    apart = story.edits("load.js", "// the page loads\nload()\nsend(request.header)")
    assert [b.features["option_scattered"] for b in bound(story, [decision])] == [0.25]
    together = story.edits("index.html", "<div class='page-header'><a href='/'>home</a></div>")
    (binding,) = bound(story, [decision])
    assert binding.evidence[0].event_id == together.event_id != apart.event_id


def test_a_file_that_goes_again_is_no_evidence_of_words_that_want_it() -> None:
    story = Story()
    said = story.human("reproduce it in reproduce_bug.py")
    decision = decided(said, chosen=("reproduce_bug.py",), paths=("reproduce_bug.py",))
    story.runs("cat > scratch.py <<EOF\nprint(1)\nEOF")
    story.runs("rm reproduce_bug.py")
    filled = story.edits("/w/shop/reproduce_bug.py", "print(1)")
    (binding,) = bound(story, [decision])
    assert binding.evidence[0].event_id == filled.event_id


@pytest.mark.parametrize(("words", "weight"), [("remove old.py", None), ("old.py ist überflüssig", -0.15)])
def test_a_file_that_goes_is_what_a_path_led_to_the_more_where_words_say_that_it_goes(
    words: str, weight: float | None
) -> None:
    story = Story()
    decision = decided(story.human(words), chosen=("x",), paths=("old.py",))
    story.runs("rm old.py")
    (binding,) = bound(story, [decision])
    assert binding.features.get("deleted") == weight


def test_a_bare_name_means_the_file_of_that_name_that_its_own_turn_edited() -> None:
    story = Story()
    decision = decided(story.human("the helpers go into testenv.go"), chosen=("helpers",))
    story.edits("/w/cli/integration/testenv.go", "func helpers() {}")
    story.human("now the same for the other suite, which has its own environment")
    story.edits("/w/cli/e2e/testenv.go", "func helpers() {}")
    (binding,) = bound(story, [decision])
    assert binding.turn_index == 1
    story.human("and one more for the first one")
    again = story.runs("cat > cli/integration/testenv.go <<EOF\nfunc helpers() {}\nEOF")
    assert [b.evidence[0].event_id for b in bound(story, [decision])][1:] == [again.event_id]


def test_a_bare_name_is_any_file_of_that_name_while_its_own_turn_edited_none() -> None:
    story = Story()
    decision = decided(story.human("the helpers go into testenv.go"), chosen=("helpers",))
    story.human("go on")
    story.edits("/w/cli/e2e/testenv.go", "func helpers() {}")
    (binding,) = bound(story, [decision])
    assert binding.features["path_said"] == 0.50


@pytest.mark.parametrize(
    "words",
    [
        "remove `load_cache`",
        "I'll get rid of `load_cache`, nobody calls it",
        "we are no longer using `load_cache`",
        "let's simplify by deleting `load_cache`",
    ],
)
def test_what_is_to_go_must_be_in_what_was_removed(words: str) -> None:
    story = Story()
    decision = decided(story.human(words), chosen=(words,))
    story.edits("app.py", "load_cache()\nrun()", "run()")
    assert bound(story, [decision]) == []
    gone = story.edits("app.py", "run()", "load_cache()\nrun()")
    (binding,) = bound(story, [decision])
    assert binding.evidence[0].event_id == gone.event_id
    assert binding.features == {"same_turn": 0.25, "nearest": 0.10, "rejected_removed": 0.25, "sole": 0.25}


@pytest.mark.parametrize(
    "words",
    [
        "make removeModel global",
        "don't remove `remove_model`",
        "add a drop `remove_model` button",
        "remove the page in favour of what is drawn by `remove_model`",
    ],
)
def test_a_name_that_is_no_object_of_removing_may_be_written(words: str) -> None:
    story = Story()
    decision = decided(story.human(words), chosen=("a global",))
    story.edits("app.js", "function remove_model() {}")
    (binding,) = bound(story, [decision])
    assert binding.features["name_written"] == 0.25


def test_a_name_that_is_turned_down_is_no_evidence_where_it_is_written() -> None:
    story = Story()
    said = story.human("use a queue instead of `poll_forever`")
    decision = decided(said, chosen=("a queue",), rejected=("`poll_forever`",))
    story.edits("app.py", "poll_forever()")
    assert bound(story, [decision]) == []


def test_what_is_reverted_may_come_back() -> None:
    story = Story()
    said = story.human("revert the change to `load_cache`")
    decision = decided(said, rejected=("the change to `load_cache`",), polarity="reverse")
    story.edits("app.py", "def load_cache(): ...", "def load_cache(path): ...")
    assert len(bound(story, [decision])) == 1


def test_a_later_decision_of_the_turn_takes_back_what_is_to_go() -> None:
    story = Story()
    story.human("tidy up")
    first = decided(story.says("I'll remove `load_cache`."), chosen=("remove `load_cache`",))
    second = decided(story.says("I was wrong: I'll keep `load_cache`."), chosen=("`load_cache`",))
    story.edits("app.py", "run()", "load_cache()\nrun()")
    assert bound(story, [first, second]) == []
    assert [b.source for b in bound(story, [first])] == [first.id]


def test_an_edit_that_changes_nothing_takes_part_in_no_binding() -> None:
    story = Story()
    decision = decided(story.human("use Redis in cache.py"), chosen=("Redis",), paths=("cache.py",))
    story.edits("cache.py", "import redis", "import redis")
    assert bound(story, [decision]) == []


def test_a_conversation_is_bound_only_where_no_decision_was_read_out_of_it() -> None:
    story = Story()
    said = story.human("hm, about src/app.py: it should be fast")
    talk = conversation(said)
    story.edits("src/app.py", "fast = True")
    (binding,) = bound(story, [], [talk])
    assert (binding.source, binding.confidence) == (talk.id, 0.85)
    decision = decided(said, chosen=("speed",), conversation=talk.id, paths=("src/app.py",))
    assert [b.source for b in bound(story, [decision], [talk])] == [decision.id]


def test_a_compaction_between_counts_against_a_binding() -> None:
    story = Story()
    decision = decided(story.human("the retries go into client.py"), chosen=("client.py",))
    story.compacts()
    story.edits("client.py", "RETRIES = 3")
    (binding,) = bound(story, [decision])
    assert binding.features["compacted"] == -0.10


def test_decisions_that_rest_on_other_sessions_are_left_alone() -> None:
    story, other = Story("one:1"), Story("one:2")
    foreign = decided(other.human("use Redis"), chosen=("Redis",))
    story.human("x")
    story.happens(FileEdit("cache.py", after="import redis"))
    nowhere = Evidence(other.uid, "nowhere", 0, "statement", foreign.location)
    assert bound(story, [decided(other.events[0], chosen=("Redis",), evidence=(nowhere,))]) == []


def test_many_decisions_and_edits_are_bounded() -> None:
    story = Story(timed=False)
    decisions = []
    for number in range(300):
        decisions.append(decided(story.human(f"use Tool{number} in f.py"), chosen=(f"Tool{number}",), paths=("f.py",)))
        story.happens(FileEdit("f.py", after=f"Tool{number}()"))
    found = bound(story, decisions)
    assert len(found) <= 300 * MAX_EPISODES
    assert {b.source for b in found} == {d.id for d in decisions}
