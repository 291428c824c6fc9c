"""Every class of rules has a story: what was said, and what it decides."""

from __future__ import annotations

import pytest

from recollect.model.insights.nodes import Speaker
from tests.insights.decisions.stories import answered, decided

STORIES: list[tuple[Speaker, str, str, str, tuple[str, ...], tuple[str, ...]]] = [
    ("human", "use Postgres, not MySQL", "choice", "adopt", ("Postgres",), ("MySQL",)),
    ("human", "use a queue instead of polling", "choice", "adopt", ("queue",), ("polling",)),
    ("human", "instead of sleeping, wait for the event", "choice", "adopt", ("wait for the event",), ("sleeping",)),
    ("human", "replace axios with fetch", "choice", "adopt", ("fetch",), ("axios",)),
    ("human", "don't use TAGS_CACHE, use self.map_cache", "choice", "adopt", ("self.map_cache",), ("TAGS_CACHE",)),
    ("human", "put it in utils.py and not in main", "choice", "adopt", ("utils.py",), ("main",)),
    ("human", "single quotes, not double", "choice", "adopt", ("single quotes",), ("double",)),
    ("human", "let's go with the ring buffer", "choice", "adopt", ("ring buffer",), ()),
    ("human", "keep the old API for now", "choice", "adopt", ("old API",), ()),
    ("human", "never commit to main", "ban", "ban", (), ("commit to main",)),
    ("human", "don't modify `send_with_retries`", "ban", "ban", (), ("modify `send_with_retries`",)),
    ("human", "no new dependencies", "ban", "ban", (), ("dependencies",)),
    ("human", "snapshots are off limits here", "ban", "ban", (), ("snapshots",)),
    ("human", "always run the formatter before a commit", "rule", "adopt", ("run the formatter before a commit",), ()),
    ("human", "from now on, add a changelog entry", "rule", "adopt", ("add a changelog entry",), ()),
    ("human", "all routes must pass through the auth middleware", "rule", "adopt",
     ("pass through the auth middleware",), ()),
    ("human", "I prefer tabs", "preference", "prefer", ("tabs",), ()),
    ("human", "I'd rather have pathlib than os.path", "preference", "prefer", ("have pathlib",), ("os.path",)),
    ("human", "prefer composition over inheritance", "preference", "prefer", ("composition",), ("inheritance",)),
    ("human", "drop the plugin architecture", "rejection", "reject", (), ("plugin architecture",)),
    ("human", "we don't need a cache", "rejection", "reject", (), ("cache",)),
    ("human", "actually, go back to npm", "reversal", "reverse", ("npm",), ()),
    ("human", "revert the port and use 9443", "reversal", "reverse", ("9443",), ()),
    ("human", "drop Redis after all", "reversal", "reverse", (), ("Redis",)),
    ("assistant", "I decided to store the hash rather than the file.", "choice", "adopt",
     ("store the hash",), ("file",)),
    ("assistant", "I'll use a set instead of a list here.", "choice", "adopt", ("set",), ("list",)),
    ("assistant", "I chose a ring buffer because it is bounded.", "choice", "adopt", ("ring buffer",), ()),
    ("assistant", "The simplest fix is to add a lock around the map.", "choice", "adopt",
     ("add a lock around the map",), ()),
    ("assistant", "I'll store amounts as integers to avoid rounding errors.", "choice", "adopt",
     ("store amounts as integers",), ()),
    ("assistant", "I won't add the key to the README.", "rejection", "reject", (), ("add the key to the README",)),
    ("assistant", "Let me revert my earlier change to `Detect()`.", "reversal", "reverse",
     (), ("earlier change to `Detect()`",)),
]  # fmt: skip


@pytest.mark.parametrize(("speaker", "text", "category", "polarity", "chosen", "rejected"), STORIES)
def test_a_class_of_rules_reads_its_story(
    speaker: Speaker, text: str, category: str, polarity: str, chosen: tuple[str, ...], rejected: tuple[str, ...]
) -> None:
    found = decided(text, speaker)
    assert [(d.markers[0].category, d.polarity, d.chosen, d.rejected) for d in found] == [
        (category, polarity, chosen, rejected)
    ]
    assert found[0].speaker == speaker


def test_two_sentences_that_turn_down_and_take_are_one_choice() -> None:
    (one,) = decided("don't mock completion. mock the httpx library")
    assert (one.polarity, one.chosen, one.rejected) == ("adopt", ("mock the httpx library",), ("mock completion",))


def test_a_message_can_decide_several_things() -> None:
    found = decided("Use Postgres instead of MySQL. Never commit to main. I prefer tabs over spaces.")
    assert [d.polarity for d in found] == ["adopt", "ban", "prefer"]
    assert len({d.id for d in found}) == 3


def test_the_reason_is_kept_in_the_words_of_the_speaker() -> None:
    (one,) = decided("I'll use SQLite instead of Postgres because there is no server to run.", "assistant")
    assert one.rationale == "because there is no server to run."


@pytest.mark.parametrize(
    ("text", "rationale"),
    [
        ("Since there is no server to run, I'll use SQLite instead of Postgres.", "Since there is no server to run"),
        ("I'll use SQLite (since there is no server to run) instead of Postgres.", "since there is no server to run"),
        ("I'll use `SQLite` instead of Postgres since there is no server to run:\n", "since there is no server to run"),
        ("It cleans up by itself, so we don't need to delete the temporary file.", ""),
    ],
)
def test_a_reason_ends_where_the_decision_begins(text: str, rationale: str) -> None:
    (one,) = decided(text, "assistant")
    assert one.rationale == rationale


@pytest.mark.parametrize(
    ("text", "rejected"),
    [
        ("Use the time in the JSON instead of relying on the file's age.", ("file's age",)),
        (
            "For now, let me remove the count of checkpoints from the tests since it is wrong.",
            ("count of checkpoints",),
        ),
    ],
)
def test_what_is_turned_down_is_named_without_the_word_that_turns_it_down(text: str, rejected: tuple[str, ...]) -> None:
    (one,) = decided(text, "assistant")
    assert one.rejected == rejected


def test_a_condition_is_no_option() -> None:
    assert [d.chosen for d in decided("so I think I'd prefer if it's moved to sessions, not `runs`")] in ([], [()])


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("for now, use SQLite instead of Postgres", "session"),
        ("in all my projects I prefer tabs over spaces", "user"),
        ("I always prefer tabs over spaces", "repo"),
        ("never edit the files in src/generated/", "path"),
        ("use Postgres instead of MySQL", "repo"),
    ],
)
def test_the_words_say_what_a_decision_holds_for(text: str, scope: str) -> None:
    assert [d.scope for d in decided(text)] == [scope]


def test_paths_in_the_statement_are_named() -> None:
    (one,) = decided("put it in src/app/util.py and not in main.py")
    assert one.paths == ("src/app/util.py", "main.py")


def test_confidence_is_the_sum_of_its_features() -> None:
    (one,) = decided("use `redis` instead of `memcached` because it persists")
    assert one.features == {
        "strong_rule": 0.6, "contrast": 0.15, "named_option": 0.1, "reason": 0.1, "human": 0.1,
    }  # fmt: skip
    assert one.confidence == 0.99  # the most that is given


def test_what_is_found_quotes_the_message_and_nothing_else() -> None:
    text = "Thanks!\n\nuse Postgres, not MySQL.\n\nSee you."
    (one,) = decided(text)
    evidence = one.evidence[-1]
    assert text[evidence.start : evidence.end] == one.statement == "use Postgres, not MySQL."
    assert one.status == "derived"


def test_a_german_duty_is_a_rule_and_no_choice() -> None:
    for text, chosen in (
        ("Das muss durch das Review gehen.", "Review"), ("Requests müssen über das Gateway laufen.", "Gateway"),
    ):  # fmt: skip
        (decision,) = decided(text, "human")
        assert (decision.markers[0].category, decision.chosen) == ("rule", (chosen,))


ALONE = ("replace axios with fetch", "single quotes, not double")
"""Stories of rules that count only in a short message."""


@pytest.mark.parametrize(("speaker", "text"), [(s, t) for s, t, *_ in STORIES if t not in ALONE])
def test_what_stands_around_a_sentence_changes_nothing(speaker: Speaker, text: str) -> None:
    around = "The quick brown fox sleeps near the river bank all day.\n\n"
    (alone,) = decided(text, speaker)
    (within,) = decided(3 * around + text + "\n\n" + 3 * around, speaker)
    assert (within.chosen, within.rejected, within.polarity) == (alone.chosen, alone.rejected, alone.polarity)
    assert within.statement == alone.statement


def test_what_is_put_off_with_a_reason_is_decided() -> None:
    (one,) = decided("We'll do the retries tomorrow, because the freeze starts on Monday.")
    assert one.rationale == "because the freeze starts on Monday."
    assert decided("We'll do the retries tomorrow.") == []
    (one,) = answered("Shall I migrate the audit table to UUID keys now?", "not now, because the freeze starts Monday")
    assert one.polarity == "reject"
