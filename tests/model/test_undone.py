"""Which events the rewinds of a session left behind."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.model.payloads import Rewind
from recollect.model.undone import Step, undone
from tests.examples import tried


def said(*events: str | Rewind) -> list[Step]:
    """Steps: "u1" is a turn, any other text an answer, a rewind a rewind."""
    return [
        Step(f"r{place}", rewind=event) if isinstance(event, Rewind) else Step(event, is_turn=event.startswith("u"))
        for place, event in enumerate(events)
    ]


def left(*events: str | Rewind) -> str:
    """Return the names of undone events but rewinds."""
    steps = said(*events)
    return " ".join(
        step.event_id for step, is_undone in zip(steps, undone(steps), strict=True) if is_undone and not step.rewind
    )


def test_everything_after_the_named_event_up_to_the_rewind_is_undone() -> None:
    assert left("u1", "a1", "u2", "a2", Rewind("a1"), "u3", "a3") == "u2 a2"


def test_turns_are_counted_from_the_end_where_no_event_is_named() -> None:
    assert left("u1", "a1", "u2", "a2", "u3", "a3", Rewind(turns_dropped=2), "u4") == "u2 a2 u3 a3"


def test_turns_of_an_abandoned_branch_are_not_counted_again() -> None:
    assert left("u1", "a1", "u2", Rewind("a1"), "u3", Rewind(turns_dropped=2), "u4") == "u1 a1 u2 u3"


def test_of_more_turns_than_are_known_all_known_ones_are_undone() -> None:
    assert left("start", "u1", "a1", Rewind(turns_dropped=5), "u2") == "u1 a1"


def test_a_rewind_that_names_nothing_and_counts_nothing_leaves_everything() -> None:
    assert left("u1", "a1", Rewind(), "u2") == ""


def test_a_rewind_to_an_unknown_event_counts_its_turns_or_leaves_everything() -> None:
    assert left("u1", "a1", "u2", Rewind("gone"), "u3") == ""
    assert left("u1", "a1", "u2", Rewind("gone", 1), "u3") == "u2"


def test_a_rewind_within_a_rewind_undoes_both() -> None:
    assert left("u1", "a1", "u2", Rewind("a1"), "u3", "a3", Rewind("u1"), "u4") == "a1 u2 u3 a3"


def test_a_rewind_into_an_abandoned_branch_takes_it_up_again() -> None:
    assert left("u1", "a1", "u2", "a2", Rewind("a1"), "u3", Rewind("u2"), "u4") == "a2 u3"


def test_the_prompt_that_shows_its_own_rewind_is_not_undone() -> None:
    steps = [*said("u1", "a1", "u2", "a2"), Step("u3", is_turn=True), Step("u3", rewind=Rewind("a1", 1)), Step("a3")]
    assert undone(steps) == [False, False, True, True, False, False, False]
    counted = [*steps[:5], Step("u3", rewind=Rewind(turns_dropped=1)), Step("a3")]
    assert undone(counted) == undone(steps)


def test_the_prompts_of_a_subagent_are_no_turns() -> None:
    steps = said("u1", "a1", "u2")
    steps += [Step("side"), *said(Rewind(turns_dropped=1))]
    assert undone(steps) == [False, False, True, True, False]


class Move(NamedTuple):
    """Something said, or a rewind to the event of a place (modulo what there is), or of so many turns."""

    kind: str
    number: int


MOVES = st.lists(
    st.builds(Move, st.sampled_from(["turn", "answer", "answer", "to", "unknown", "back"]), st.integers(0, 12)),
    max_size=40,
)


def kept_by_hand(steps: list[Step]) -> list[int]:
    """A naive simulation: a list of what is kept, and a copy of it at every event."""
    kept: list[int] = []
    at: dict[str, list[int]] = {}
    for place, step in enumerate(steps):
        rewind = step.rewind
        if rewind is not None:
            if rewind.to_event in at:
                kept = list(at[rewind.to_event])
            elif rewind.turns_dropped:
                turns = [i for i, there in enumerate(kept) if steps[there].is_turn]
                if turns:
                    kept = kept[: turns[max(0, len(turns) - rewind.turns_dropped)]]
        kept = [*kept, place]
        at[step.event_id] = kept
    return kept


@settings(max_examples=tried(200))
@given(MOVES)
def test_any_nesting_of_rewinds_leaves_what_a_list_of_kept_events_leaves(moves: list[Move]) -> None:
    steps: list[Step] = []
    for place, (kind, number) in enumerate(moves):
        name = f"e{place}"
        match kind:
            case "turn" | "answer":
                steps.append(Step(name, is_turn=kind == "turn"))
            case "to":
                steps.append(Step(name, rewind=Rewind(f"e{number % (place + 1)}", number % 3 or None)))
            case "unknown":
                steps.append(Step(name, rewind=Rewind("gone", number or None)))
            case _:
                steps.append(Step(name, rewind=Rewind(turns_dropped=number or None)))
    kept = set(kept_by_hand(steps))
    assert undone(steps) == [place not in kept for place in range(len(steps))]
