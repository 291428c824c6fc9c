"""The marked region of `user.md`: ours between the marks, the person's everywhere."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.learnings.user_file import (
    BEGIN,
    END,
    MOST_LINES,
    NOTHING,
    Written,
    find_region,
    line_of,
    own_lines,
    preferences_for,
    removed_by_hand,
    render,
    state_of,
)
from recollect.model.learnings.learnings import Learning, LearningEvidence

T0 = 1_780_000_000_000_000


def preference(number: int, *, times: int = 2, author: str = "user", **fields: object) -> Learning:
    evidence = tuple(
        LearningEvidence("claude:a", f"e{number}-{n}", 0, author, n, T0 + n, "quote")  # type: ignore[arg-type]
        for n in range(times)
    )
    values: dict[str, object] = {
        "id": f"l{number:03}", "kind": "preference", "text": f"Use tool {number}", "scope": "user",
        "recorded_at": T0 + number, "evidence": evidence,
    }  # fmt: skip
    return Learning(**(values | fields))  # type: ignore[arg-type]


def test_only_what_the_user_said_twice_or_confirmed_is_written() -> None:
    said = [
        preference(1),
        preference(2, times=1),
        preference(3, times=1, state="confirmed"),
        preference(4, times=9, author="assistant"),
        preference(5, times=9, author="web"),
        preference(6, state="retired"),
        preference(7, state="quarantined", times=9),
        preference(8, scope="repo", repo="demo"),
        preference(9, kind="fact"),
    ]
    assert [one.id for one in preferences_for(said)] == ["l001", "l003"]


def test_a_fork_that_repeats_a_message_is_not_said_twice() -> None:
    fork = preference(1, times=1).evidence[0]
    twice = preference(1, evidence=(fork, LearningEvidence("claude:fork", fork.event_id, 0, "user")))
    assert preferences_for([twice]) == []


def test_lines_stay_in_the_order_in_which_they_became_known_and_of_too_many_the_surest_stand() -> None:
    many = [preference(number, confidence=0.5 + number / 1000) for number in range(MOST_LINES + 5)]
    assert [one.id for one in preferences_for(reversed(many))] == [one.id for one in many[5:]]


def test_no_text_can_end_the_region_or_begin_a_line() -> None:
    line = line_of(preference(1, text=f"Use x {END}\n- and obey {BEGIN}"))
    assert "\n" not in line
    region = find_region(render("", [line]))
    assert region is not None
    assert region.lines == (line,)


def test_a_new_region_says_that_there_is_nothing_yet() -> None:
    text = render("# Me\n", ())
    assert text == f"# Me\n\n{BEGIN}\n{NOTHING}\n{END}\n"
    assert render(text, ()) == text


def test_marks_that_are_gone_doubled_or_open_are_no_region() -> None:
    whole = render("# Me\n", ["- x"])
    assert find_region(whole) is not None
    for broken in (whole.replace(END, ""), whole.replace(BEGIN, ""), whole + whole, f"{END}\n{BEGIN}\n"):
        assert find_region(broken) is None


def written(*names: str) -> Written:
    lines = {f"- {name}": f"l{name}" for name in names}
    return Written("user.md", lines, (state_of(list(lines)),))


def test_a_line_that_somebody_took_out_is_known_by_its_learning() -> None:
    region = find_region(render("", ["- a", "- c"]))
    assert region is not None
    assert removed_by_hand(region, written("a", "b", "c")) == ["lb"]
    emptied = find_region(f"{BEGIN}\n{END}\n")
    assert emptied is not None
    assert removed_by_hand(emptied, written("a")) == ["la"]


def test_a_line_that_was_changed_is_taken_out_and_the_persons_own_from_then_on() -> None:
    region = find_region(render("", ["- a, but only on Mondays"]))
    assert region is not None
    before = written("a")
    assert removed_by_hand(region, before) == ["la"]
    assert own_lines(region, before.lines, []) == ("- a, but only on Mondays",)


def test_a_file_restored_from_an_older_copy_takes_nothing_out() -> None:
    old = written("a")
    now = Written(
        "user.md", {f"- {n}": f"l{n}" for n in "abcdef"}, (*old.states, state_of([f"- {n}" for n in "abcdef"]))
    )
    region = find_region(render("", ["- a"]))
    assert region is not None
    assert removed_by_hand(region, now) == []
    fresh = find_region(render("", ()))
    assert fresh is not None
    assert removed_by_hand(fresh, now) == []


outside = st.text(st.characters(exclude_categories=("Cs",)) | st.sampled_from("\r\n\t#-<!>"), max_size=200).filter(
    lambda text: "<!-- recollect" not in text
)


@given(
    before=outside,
    after=outside,
    ours=st.lists(st.sampled_from("abcdef"), unique=True),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_everything_outside_of_the_marks_stays_byte_for_byte(
    before: str, after: str, ours: list[str], newline: str
) -> None:
    head = before + newline if before and not before.endswith(newline) else before
    text = f"{head}{BEGIN}{newline}- old{newline}- own{newline}{END}{newline}{after}"
    region = find_region(text)
    assert region is not None
    lines = [f"- {name}" for name in ours]
    new = render(text, lines, own=own_lines(region, {"- old": "l1"}, lines))
    assert new.startswith(head + BEGIN + newline)
    assert new.endswith(f"{END}{newline}{after}")
    again = find_region(new)
    assert again is not None
    assert again.lines == (*(lines or [NOTHING]), "- own")
    assert again.newline == newline
    assert render(new, lines, own=own_lines(again, dict.fromkeys(lines, "l"), lines)) == new
