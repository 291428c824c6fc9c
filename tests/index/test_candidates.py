"""What the second round tells of events is what the engine finds when it looks at everything."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tantivy import Occur, Query

from recollect.index.query import clauses
from recollect.index.query.candidates import Candidate, CandidateSearch, QueryPlan
from recollect.index.query.clauses import OUTPUT_KIND, UnitClauses, all_of, asked_besides, either, one_of, term_query
from recollect.index.query.grammar import parse
from recollect.index.query.query_units import Unit, UnitReader
from recollect.index.text.document_builder import DocumentBuilder
from recollect.index.text.schema import KEY, KIND, TEXT
from recollect.index.text.shards import Shard, TextIndex
from recollect.index.text.writer import IndexWriterSet
from recollect.model.text import TextClass
from recollect.store.rows import IndexDoc

WORDS = ("cache", "caches", "cached", "worker", "workers", "retry", "retryQueue", "retry_queue", "queue", "lock", "the")
PATHS = ("", "", "src/cache/worker.py", "src/retry_queue.go")
QUESTIONS = (
    "cache worker retry", "why does the worker cache retry the lock", "retry_queue worker", "retryQueue caches",
    "cache lock missing",
)  # fmt: skip
SESSIONS, EVENTS, POOL = 6, 40, 12


@pytest.fixture(scope="module")
def shard(tmp_path_factory: pytest.TempPathFactory) -> Shard:
    folder = tmp_path_factory.mktemp("index")
    drawn = random.Random(11)
    docs: list[IndexDoc] = []
    for session in range(1, SESSIONS + 1):
        for seq in range(EVENTS):
            is_output = drawn.random() < 0.4
            builder = DocumentBuilder()
            text = " ".join(drawn.choices(WORDS, k=drawn.randrange(1, 9))) if drawn.random() < 0.8 else "nothing"
            path = drawn.choice(PATHS)
            kind = OUTPUT_KIND if is_output else "user_message"
            text_class: TextClass = "tool_output" if is_output else "talk"
            builder.add(text_class, text, (path,) if path else (), kind=kind, tool="", ts=seq)
            docs += [IndexDoc(session << 24 | seq, session, "2026-08", json) for json in builder.finish()[0]]
    with IndexWriterSet.open(folder) as writers:
        writers.add(docs)
        writers.commit()
    (found,) = TextIndex.open(folder).shards()
    return found


def matched(shard: Shard, query: Query | None) -> dict[int, float]:
    """Return the score of every event that a query matches."""
    if query is None:
        return {}
    result = shard.searcher.search(query, limit=10_000)
    keys = shard.searcher.fast_field_values(KEY, [address for _, address in result.hits])
    return {int(key or 0): score for (score, _), key in zip(result.hits, keys, strict=True)}


def typed(made: UnitClauses, shard: Shard, unit: Unit) -> Query | None:
    if not unit.sequence:
        return made.as_typed(shard, unit)
    scattered = None if unit.is_camel else made.scattered(shard, unit)
    return either([made.certain(shard, unit), all_of([scattered, term_query(KIND, OUTPUT_KIND)])])


def candidates(shard: Shard, question: str) -> tuple[tuple[Unit, ...], dict[int, Candidate]]:
    units = UnitReader(TextIndex.open(Path()), [shard], with_instructions=False).words(parse(question, 0).words)
    wanted = QueryPlan(tuple(units))
    return wanted.all_units, CandidateSearch([shard], wanted, pool=POOL).run()


@pytest.mark.parametrize("rare_documents", [0, 30, 1_000])
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_unit_and_score_is_as_when_everything_is_looked_at(
    question: str, rare_documents: int, shard: Shard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clauses, "_RARE_DOCUMENTS", rare_documents)
    units, found = candidates(shard, question)
    made = UnitClauses((TEXT,), ())
    has = [matched(shard, made.found(shard, unit)) for unit in units]
    exact = [matched(shard, typed(made, shard, unit)) for unit in units]
    scored = [query for unit in units for query in made.scores(shard, unit)]
    scores = matched(shard, Query.boolean_query([(Occur.Should, query) for query in scored]))
    best = sorted(scores.values(), reverse=True)[:POOL]
    assert len(found) > POOL  # neighbours, too, which only the second round has seen
    for key, candidate in found.items():
        assert candidate.has == sum(1 << i for i, keys in enumerate(has) if key in keys)
        assert candidate.exact == sum(1 << i for i, keys in enumerate(exact) if key in keys)
        assert candidate.score == pytest.approx(min(scores[key], max(candidate.score, best[-1])), rel=1e-5)
    assert sorted((c.score for c in found.values()), reverse=True)[:POOL] == pytest.approx(best, rel=1e-5)


def test_few_values_and_a_set_of_them_match_the_same(shard: Shard) -> None:
    keys = [session << 24 | seq for session in (1, 2) for seq in range(0, EVENTS + 5, 3)]
    for name, values in ((KEY, keys), (KIND, [OUTPUT_KIND, "no such kind"]), (TEXT, ["cache", "lock"]), (KEY, [])):
        few, many = (set(matched(shard, one_of(name, values, few=most))) for most in (len(values), -1))
        assert few == many
    assert matched(shard, one_of(KEY, keys)).keys() <= set(keys)


def test_what_a_shard_remembers_stays_small(shard: Shard) -> None:
    for number in range(25_000):
        assert shard.document_frequency(TEXT, f"absent{number}") == 0
    assert shard.document_frequency(TEXT, "cache") == shard.searcher.doc_freq(TEXT, "cache") > 0
    assert len(shard._frequencies.known) <= 10_000


def test_what_is_asked_besides_adds_its_score_and_takes_nothing_away(shard: Shard) -> None:
    required = term_query(TEXT, "worker")
    optional = [Query.const_score_query(term_query(TEXT, word), 2.0**i) for i, word in enumerate(("cache", "lock"))]
    beside = matched(shard, asked_besides(Query.const_score_query(required, 0.0), optional))
    having = [matched(shard, query) for query in optional]
    assert beside == {key: sum(keys.get(key, 0.0) for keys in having) for key in matched(shard, required)}
    assert {0.0, 1.0, 2.0, 3.0} == set(beside.values())
