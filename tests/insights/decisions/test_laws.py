"""What holds for any text: nothing is raised, everything is bounded, quotes the text, and is the same each time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.insights.decisions.gate import RuleGate
from recollect.insights.language.prose_mask import folded, project
from recollect.insights.language.reader import READINGS, readings
from recollect.insights.language.sentences import sentences
from recollect.model.insights.nodes import Speaker
from tests.insights.decisions.stories import UID, read

WORDS = (
    "use", "Postgres", "instead of", "MySQL", "never", "don't", "not", ",", ".", "\n", "because", "if", "?", "I'll",
    "let me", "prefer", "over", "```", "`x`", '"q"', "- ", "1. ", "yes", "option 2", "statt", "nimm", "en lugar de",
    "用", "而不是", "ではなく", "вместо", "используй", "> ", "|", "<tag>", "</tag>", "\ud800", "İ", "ß", "\x00", "👍",
    "(", ")", "store", "keep",
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join))
SPEAKERS: st.SearchStrategy[Speaker] = st.sampled_from(["human", "assistant"])


@given(TEXTS, SPEAKERS)
def test_readings_are_bounded_and_lie_in_the_text(text: str, speaker: Speaker) -> None:
    found = readings(text, speaker)
    assert len(found) <= READINGS
    for reading in found:
        assert 0 <= reading.start < reading.end <= len(text)
        for start, end in (*reading.chosen, *reading.rejected):
            assert 0 <= start < end <= len(text)


@given(TEXTS, SPEAKERS)
def test_markers_quote_the_text(text: str, speaker: Speaker) -> None:
    for marker in RuleGate().markers(text, speaker):
        assert text[marker.start : marker.end].startswith(marker.text)
        assert marker.text


@given(TEXTS)
def test_what_is_covered_up_stays_where_it_was(text: str) -> None:
    for of_human in (True, False):
        prose = project(text, of_human=of_human)
        assert len(prose) == len(text)
        assert all(sentence.start < sentence.end <= len(prose) for sentence in sentences(prose))
    assert len(folded(text)) == len(text)


@given(st.lists(st.tuples(SPEAKERS, TEXTS), max_size=6))
def test_a_session_gives_the_same_nodes_each_time(messages: list[tuple[Speaker, str]]) -> None:
    messages = [(speaker, text) for speaker, text in messages if text]
    first, again = read(*messages), read(*messages)
    assert first == again
    conversations, decisions = first
    nodes = [node.id for node in (*conversations, *decisions)]
    assert len(set(nodes)) == len(nodes)
    texts = {f"e{number}": text for number, (_, text) in enumerate(messages)}
    for decision in decisions:
        assert decision.session_uid == UID
        assert 0.5 <= decision.confidence <= 1.0
        assert decision.options or decision.polarity == "reverse"
        last = decision.evidence[-1]
        assert texts[last.event_id][last.start : last.end].strip() == decision.statement
    for conversation in conversations:
        quoted = [texts[e.event_id][e.start : e.end] for e in conversation.evidence]
        assert conversation.text == "\n\n".join(quoted)
        for marker in conversation.markers:
            assert conversation.text[marker.start : marker.end].startswith(marker.text)


@given(st.lists(TEXTS, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_what_a_message_says_does_not_depend_on_those_read_before_it(texts: list[str], random: object) -> None:
    gate = RuleGate()
    alone = {text: RuleGate().markers(text, "human") for text in texts}
    shuffled = list(texts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert {text: gate.markers(text, "human") for text in shuffled} == alone
