"""Search finds, says how it matched, counts what it leaves out, and keeps silent when there is nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import IndexUnavailable
from recollect.index.text.shards import TextIndex
from recollect.recall.answers import SearchAnswer
from recollect.recall.search import Searcher
from tests.examples import tried
from tests.recall.memories import NOW_US, MemoryOfTests


def texts(answer: SearchAnswer) -> list[str]:
    return [hit.snippet for hit in answer.hits]


def fill(memory: MemoryOfTests) -> None:
    """Two sessions with ordinary talk, so that rareness means something."""
    for number in (90, 91):
        memory.session(number)
        for i in range(20):
            memory.say(number, f"ordinary talk about apples pears and plums number{i} of session{number}")


def test_the_event_with_all_words_comes_first_and_is_exact(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "the deploy failed")
    memory.say(1, "the deploy failed because the host key was unknown")
    answer = memory.ask("deploy failed host key")
    assert answer.hits[0].seq == 1
    assert answer.hits[0].match_level == answer.match_level == "exact"
    assert answer.hits[1].match_level == "near"


def test_inflections_are_found_and_called_stemmed(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "we renamed the invoices")
    answer = memory.ask("renaming invoice")
    assert [hit.match_level for hit in answer.hits] == ["stemmed"]


def test_accents_may_be_left_out_or_put_in(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "the crème brûlée page")
    memory.say(1, "a plain facade")
    assert len(memory.ask("brulee").hits) == 1
    assert len(memory.ask("façade").hits) == 1


def test_identifiers_are_found_whole_in_parts_and_in_any_case(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "call computeInvoiceTotal here", kind="tool_call", tool="Edit")
    memory.say(1, "def fetch_route_row():", kind="tool_result")
    for query in ("computeInvoiceTotal", "computeinvoicetotal", "invoice total", "*voiceTot*", "/compute.*total/"):
        assert memory.ask(query).hits, query
    for query in ("fetch_route_row", '"fetch route row"', "*etch_rou*", "/fetch_\\w+_row/"):
        assert memory.ask(query).hits, query


def test_scripts_without_spaces_are_found_by_any_part(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "全文検索を実装する")
    memory.say(1, "사용자가 로그인했다")
    assert len(memory.ask("検索").hits) == 1
    assert len(memory.ask("사용자").hits) == 1


def test_a_question_in_another_language_finds_what_was_said_in_english(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "was ist die beste Datei und welche haben wir")
    key = memory.say(1, "the file was rejected because nobody had read it before")
    answer = memory.ask("Warum wurde die Datei im Test zurückgewiesen?")
    assert answer.hits[0].seq == key & 0xFFFFFF
    assert "also looked for in English: Datei = file, zurückgewiesen = refuse" in answer.notes


def test_a_question_in_the_language_of_the_transcript_finds_its_words(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "a file was refused")
    key = memory.say(1, "die Datei wurde zurückgewiesen, weil niemand sie gelesen hatte")
    assert memory.ask("Warum wurde die Datei zurückgewiesen, die niemand gelesen hatte?").hits[0].seq == key & 0xFFFFFF


def test_a_phrase_quoted_in_a_question_comes_first_and_excludes_nothing(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    loose = memory.say(1, "the key of that host was unknown to the deploy", kind="assistant_message")
    exact = memory.say(1, "the deploy stopped: unknown host key", kind="assistant_message")
    found = [hit.seq for hit in memory.ask('why did the deploy say "unknown host key"?').hits]
    assert found[:2] == [exact & 0xFFFFFF, loose & 0xFFFFFF]
    assert [hit.seq for hit in memory.ask('deploy "unknown host key"').hits] == [exact & 0xFFFFFF]


def test_a_phrase_is_strict_also_in_tool_output(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "error: host key verification failed", kind="tool_result")
    memory.say(1, "verification of the key failed on that host", kind="tool_result")
    memory.say(1, "we saw: Host key verification failed.")
    answer = memory.ask('"host key verification"')
    assert sorted(hit.seq for hit in answer.hits) == [0, 2]


def test_exclusion_is_strict(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "zebra stripes")
    memory.say(1, "zebra crossing")
    memory.say(1, "output: zebra dry run", kind="tool_result")
    memory.say(1, "run zebra, it is dry", kind="tool_result")
    assert sorted(hit.seq for hit in memory.ask('zebra -crossing -"dry run"').hits) == [0, 3]


def test_alternatives_need_one_of_them(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    for text in ("red fox here", "blue whale there", "green frog"):
        memory.say(1, text)
    assert sorted(hit.seq for hit in memory.ask('"red fox" OR "blue whale"').hits) == [0, 1]


def test_a_word_that_is_nowhere_is_not_missed_where_another_would_do(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "the zebra crossing was moved")
    assert [hit.seq for hit in memory.ask("zebra OR Qwxyzzy-17").hits] == [0]
    assert memory.ask("zebra OR Qwxyzzy-17").hits[0].match_level == "exact"
    assert memory.ask("Blorptang OR Qwxyzzy-17").abstained


def test_filters_confine(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.session(2, agent="codex", month="2026-07")
    memory.say(1, "zebra one", at="2026-08-01T10:00:00Z")
    memory.say(1, "zebra ls", kind="tool_call", tool="Bash", path="/src/app/main.py")
    memory.say(2, "zebra two", at="2026-07-01T10:00:00Z")
    for query, uids in {
        "zebra agent:codex": ["codex:2"],
        "zebra -agent:codex": ["claude:1", "claude:1"],
        "zebra session:codex:2": ["codex:2"],
        "zebra after:2026-08": ["claude:1"],
        "zebra before:2026-08-01": ["codex:2"],
        "zebra on:2026-07-01": ["codex:2"],
        "zebra kind:tool_call": ["claude:1"],
        "zebra tool:shell": ["claude:1"],
        "zebra tool:bash -agent:codex": ["claude:1"],
        "zebra path:app/main.py": ["claude:1"],
        "zebra path:src/ap": ["claude:1"],
        "zebra tool:edit": [],
        "zebra path:other": [],
    }.items():
        assert [hit.session_uid for hit in memory.ask(query).hits] == uids, query


def test_where_a_named_session_has_none_of_the_words_it_is_said_how_many_events_elsewhere_have(
    memory: MemoryOfTests,
) -> None:
    fill(memory)
    memory.session(1)
    for number in range(5):
        memory.say(1, f"the kubernetes ingress of service {number} is deployed")
    memory.session(2)
    memory.say(2, "the transfer test passes")
    nowhere = memory.ask("kubernetes ingress session:claude:2")
    assert (nowhere.hits, nowhere.elsewhere) == ((), 5)
    assert memory.ask("kubernetes ingress session:claude:1").elsewhere == 0
    assert memory.ask("transfer session:claude:2").elsewhere == 0
    assert memory.ask("zyxwvut session:claude:2").elsewhere == 0
    assert memory.ask("transfer passes crashes session:claude:2").elsewhere == 0
    some = memory.ask("transfer kubernetes ingress session:claude:2")
    assert (some.match_level, len(some.hits), some.elsewhere) == ("near", 1, 5), "hits with fewer words hide nothing"


def test_a_word_that_only_events_elsewhere_have_is_not_hidden_by_hits_with_another(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "the kubernetes upgrade is done")
    memory.say(1, "an ingress was added")
    memory.session(2)
    memory.say(2, "an ingress is explained")
    found = memory.ask("kubernetes ingress session:claude:2")
    assert (found.match_level, found.elsewhere) == ("near", 1)
    assert memory.ask("kubernetes ingress session:claude:1").elsewhere == 0
    assert memory.ask("ingress explained upgrade session:claude:2").elsewhere == 0, "with fewer words it is no better"


def test_filters_alone_that_find_nothing_count_what_they_allow_elsewhere(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.session(2)
    memory.say(1, "ls", kind="tool_call", tool="Bash")
    memory.say(2, "hello")
    assert memory.ask("kind:tool_call session:claude:2").elsewhere == 1


def test_instructions_are_found_only_when_asked_for(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "always run the zebra linter", kind="instructions")
    memory.say(1, "ok")
    assert memory.ask("zebra").hits == ()
    assert len(memory.ask("zebra kind:instructions").hits) == 1


def test_a_date_said_in_passing_comes_first_but_excludes_nothing(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "installed the zebra monitor", at="2026-03-01T10:00:00Z")
    memory.say(1, "the zebra thing", at="2026-01-08T10:00:00Z")
    answer = memory.ask("which zebra monitor did we install on 8 January 2026")
    assert [hit.seq for hit in answer.hits] == [1, 0]


def test_the_best_hits_come_first_however_many_are_of_one_session(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.session(2, root=1)
    memory.session(3)
    for number in (1, 2):
        for i in range(4):
            memory.say(number, f"zebra number {i} in {number}")
    memory.say(3, "also a zebra")
    answer = memory.ask("zebra")
    roots = [hit.root_session_uid for hit in answer.hits]
    assert (roots.count("claude:1"), roots.count("claude:3")) == (8, 1)
    assert (answer.total, answer.left_out) == (9, 0)
    few = memory.ask("zebra", limit=2)
    assert next(hit.more_in_session for hit in few.hits if hit.root_session_uid == "claude:1") >= 6
    assert (few.total, few.left_out) == (9, 7)


def test_copies_of_one_text_are_one_hit_and_hidden_events_none(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.session(2)
    for session in (1, 2):
        memory.say(session, "zebra in a long message that nobody types twice, so it was copied: " + "words " * 40)
        memory.say(session, "zebra in a file", kind="tool_result", tool="Read")
    memory.hidden.add(memory.say(2, "zebra replaced"))
    assert len(memory.ask("zebra").hits) == 2


def test_the_same_few_words_in_unrelated_sessions_are_hits_of_their_own(memory: MemoryOfTests) -> None:
    fill(memory)
    for session in (1, 2):
        memory.session(session)
        memory.say(session, "run the zebra tests")
    assert len(memory.ask("zebra").hits) == 2


def test_an_absent_identifier_is_said_and_nothing_is_shown(memory: MemoryOfTests) -> None:
    fill(memory)
    answer = memory.ask("how did we configure the pear_queue pears")
    assert (answer.abstained, answer.hits, answer.match_level) == (True, (), "none")
    assert "pear_queue" in answer.notes[0]


def test_an_unsure_answer_says_so_and_what_is_nowhere(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "the zebra worker was restarted")
    answer = memory.ask("how did we set up Kubernetes for the umbrella worker")
    assert answer.hits
    assert (answer.abstained, answer.is_unsure) == (False, True)
    assert answer.notes[0].startswith("no exact match; closest results (in no event:  ")
    assert {"Kubernetes", "umbrella"} <= set(re.findall(r"\w+", answer.notes[0]))
    assert not memory.ask("zebra worker").is_unsure


def test_what_how_long_asks_for_need_not_be_called_long(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "the zebra worker is restarted every 30 days")
    assert memory.ask("how long until the zebra worker is restarted").notes == ()
    assert "long" in memory.ask("a long time until the zebra worker is restarted").notes[0]


def test_a_part_of_the_words_is_enough(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "the obstacle was a stale lock in the zebra worker queue")
    answer = memory.ask("which obstacle did the zebra worker queue hit yesterday evening")
    assert answer.match_level == "near"
    assert not answer.abstained


def test_stop_words_alone_are_looked_for(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "to be or not to be")
    assert memory.ask('"to be or not to be"').hits
    assert memory.ask("to be").hits


def test_queries_without_anything_to_look_for_say_so(memory: MemoryOfTests) -> None:
    fill(memory)
    for query in ("", "   ", "-x", "?!", '""', "()"):
        answer = memory.ask(query)
        assert answer.hits == ()
        assert answer.notes
        assert not answer.abstained


def test_filters_alone_give_the_newest_that_they_allow(memory: MemoryOfTests) -> None:
    memory.session(1)
    memory.session(2, agent="codex")
    for seq in range(12):
        memory.say(1, f"talk number{seq} of pears", kind="tool_call" if seq % 3 else "instructions")
    memory.say(2, "talk elsewhere")
    answer = memory.ask("agent:codex")
    assert [hit.session_uid for hit in answer.hits] == ["codex:2"]
    assert (answer.total, answer.match_level, answer.abstained) == (1, "exact", False)
    assert {hit.kind for hit in memory.ask("session:claude:1 -number1").hits} == {"tool_call"}
    assert {hit.seq for hit in memory.ask("session:claude:1 -number1").hits} == {2, 4, 5, 7, 8, 10, 11}
    assert memory.ask("session:claude:1 kind:instructions").total == 4
    assert memory.ask("agent:claude kind:file_edit").abstained


def test_text_beyond_64_kib_is_found(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "filler " * 30_000 + "zebra", kind="tool_result")
    assert len(memory.ask("zebra").hits) == 1


def test_a_neighbour_that_answers_more_lifts_an_event(memory: MemoryOfTests) -> None:
    fill(memory)
    for number in (1, 2):
        memory.session(number)
    memory.say(1, "the zebra worker")
    memory.say(1, "unrelated words")
    memory.say(2, "the zebra worker")
    memory.say(2, "its queue was stuck")
    answer = memory.ask("zebra worker queue")
    assert answer.hits[0].session_uid == "claude:2"


def test_an_identifier_alone_means_the_whole_and_its_parts_only_where_there_is_none(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "pullEdge() came back", kind="tool_result")
    memory.say(1, "pull the rope")
    memory.say(1, "over the edge")
    answer = memory.ask("pullEdge")
    assert ([hit.seq for hit in answer.hits], answer.total, answer.match_level) == ([0], 1, "exact")
    answer = memory.ask("edgePull")
    assert ([hit.seq for hit in answer.hits], answer.match_level) == ([0], "near")
    assert "edgePull was not found as a whole" in " ".join(answer.notes)


def test_the_total_of_a_phrase_leaves_out_what_only_has_its_words(memory: MemoryOfTests) -> None:
    fill(memory)
    for number in range(1, 8):
        memory.session(number)
        memory.say(number, f"host key {number}", kind="tool_result")
        memory.say(number, f"key of host {number}", kind="tool_result")
        memory.say(number, f"the host key {number}")
        memory.say(number, f"the key of that host {number}")
    answer = memory.ask('"host key"', limit=5)
    assert (len(answer.hits), answer.total, answer.left_out) == (5, 14, 9)
    assert answer.notes == ()


def test_a_total_that_would_take_too_long_is_a_lower_bound_and_says_so(memory: MemoryOfTests) -> None:
    fill(memory)
    for number in range(1, 61):
        memory.session(number)
        memory.say(number, f"host key {number}", kind="tool_result")
    answer = memory.ask('"host key"', limit=5)
    assert 5 <= answer.total < 60
    assert f"at least {answer.total}: {60 - answer.total} more events" in answer.notes[-1]


def test_a_long_text_counts_once(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "zebra filler " * 30_000)
    assert memory.ask("zebra").total == 1


def test_alternatives_of_words_and_phrases_are_verified_each(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "a key, its host", kind="tool_result")
    memory.say(1, "a zebra", kind="tool_result")
    memory.say(1, "the host key", kind="tool_result")
    assert sorted(hit.seq for hit in memory.ask('"host key" OR "zebra"').hits) == [1, 2]


def test_equal_events_come_newest_first_whatever_the_order_of_arrival(memory: MemoryOfTests, tmp_path: Path) -> None:
    days = [f"2026-08-{day:02}T10:00:00Z" for day in (3, 1, 2)]
    orders = []
    for folder, arrival in (("a", (1, 2, 3)), ("b", (3, 1, 2))):
        home = MemoryOfTests(tmp_path / folder)
        fill(home)
        for number, uid in enumerate(arrival, start=1):
            home.session(number, agent=f"agent{uid}")
            home.say(number, f"zebra stripes {'abc'[uid - 1]}", at=days[uid - 1])
        orders.append([hit.agent for hit in home.ask('"zebra stripes"').hits])
    assert orders[0] == orders[1] == ["agent1", "agent3", "agent2"]


def test_the_first_hits_are_the_same_however_many_are_asked_for(memory: MemoryOfTests) -> None:
    fill(memory)
    for number in range(1, 80):
        memory.session(number)
        for i in (1, 2):
            memory.say(number, f"zebra worker queue {'stuck ' * (number * 2 + i)}")
            memory.say(number, "something else")
    few, many = memory.ask("stuck zebra queue", limit=10), memory.ask("stuck zebra queue", limit=200)
    first = [(hit.session_uid, hit.seq, hit.score) for hit in many.hits[:10]]
    assert [(hit.session_uid, hit.seq, hit.score) for hit in few.hits] == first


def test_a_part_of_the_index_that_cannot_be_read_is_left_out_and_said(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1, month="2026-07")
    memory.say(1, "zebra of july")
    memory.ask("zebra")
    for path in (memory.folder / "2026-08").glob("*.term"):
        data = path.read_bytes()
        broken = path.with_suffix(".broken")  # truncating a file that is mapped into memory kills the process
        broken.write_bytes(b"\0" * (len(data) - 200) + data[-200:])
        broken.replace(path)
    answer = memory.ask("zebra")
    assert [hit.session_uid for hit in answer.hits] == ["claude:1"]
    assert any("2026-08" in note and "damaged" in note for note in answer.notes)


def test_searching_an_empty_memory_is_an_answer(memory: MemoryOfTests) -> None:
    assert memory.ask("zebra").notes == ("nothing has been indexed yet",)


def test_a_damaged_index_is_unavailable(memory: MemoryOfTests) -> None:
    memory.session(1)
    memory.say(1, "zebra")
    memory.ask("zebra")
    for meta in memory.folder.glob("*/meta.json"):
        meta.write_text("{")
    with pytest.raises(IndexUnavailable):
        Searcher(TextIndex.open(memory.folder), memory).search("zebra", now_us=NOW_US)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> MemoryOfTests:
    memory = MemoryOfTests(Path(tmp_path_factory.mktemp("filled")) / "text")
    fill(memory)
    memory.ask("apples")
    return memory


@settings(max_examples=tried(150))
@given(query=st.one_of(st.text(max_size=60), st.text(st.sampled_from('apears *"/-:+()[]. \\é検'), max_size=40)))
def test_no_query_raises(filled: MemoryOfTests, query: str) -> None:
    answer = Searcher(TextIndex.open(filled.folder), filled).search(query, now_us=NOW_US)
    assert answer.left_out >= 0
    assert answer.total >= len(answer.hits)
    assert all(len(hit.snippet) <= 240 and "\n" not in hit.snippet for hit in answer.hits)


def test_a_newer_decision_comes_before_the_one_it_replaced(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "we deploy from the release branch", kind="assistant_message", at="2026-02-01T10:00:00Z")
    memory.session(2)
    memory.say(2, "we deploy from the main branch", kind="assistant_message", at="2026-08-10T10:00:00Z")
    answer = memory.ask("which branch do we deploy from?")
    assert [hit.session_uid for hit in answer.hits[:2]] == ["claude:2", "claude:1"]


def test_a_question_once_asked_comes_after_its_answer(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "how do we rotate the webhook certificate?")
    memory.session(2)
    memory.say(2, "to rotate the webhook certificate run make rotate-cert", kind="assistant_message")
    answer = memory.ask("how do we rotate the webhook certificate?")
    assert [hit.session_uid for hit in answer.hits[:2]] == ["claude:2", "claude:1"]


def test_a_word_that_is_nowhere_is_found_inside_of_longer_ones_and_that_is_said(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    memory.say(1, "the renderInvoiceTotals function")
    answer = memory.ask("voiceTot")
    assert [hit.session_uid for hit in answer.hits] == ["claude:1"]
    assert answer.match_level == "near"
    assert any("inside longer ones" in note for note in answer.notes)
    assert memory.ask("qqqzzz").abstained


def test_a_pasted_error_is_found_though_its_paths_and_numbers_are_new(memory: MemoryOfTests) -> None:
    fill(memory)
    memory.session(1)
    trace = 'Traceback (most recent call last):\n  File "/build/a1/ledger/post.py", line {}\nKeyError: suspense account'
    memory.say(1, trace.format(12).replace("a1", "zz9"), kind="tool_result", tool="Bash")
    answer = memory.ask(trace.format(701))
    assert [hit.session_uid for hit in answer.hits] == ["claude:1"]
