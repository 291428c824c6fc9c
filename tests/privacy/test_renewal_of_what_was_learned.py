"""After the detectors changed, what was learned, noted and documented shows nothing either that is a secret now."""

from __future__ import annotations

from pathlib import Path

from recollect.config import PrivacyConfig
from recollect.model.learnings.notes import DiaryEntry, Fact
from recollect.store.connection import open_database
from recollect.store.entries import put_entries
from recollect.store.notes import put_diary, put_fact
from tests.erasure.forget.test_learned import add_learning, add_waiting
from tests.ingest.entries.noted import draft
from tests.privacy.test_renewal import OWN, SECRET, Home


def test_no_row_no_entry_and_no_term_keeps_what_is_a_secret_now(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.take_in(PrivacyConfig())
    with open_database(home.folder, "write") as db:
        add_learning(db, "l-one", {home.one.uid: f"The shop uses {SECRET}"})
        add_waiting(db, home.one.uid, f"held back {SECRET}")
        put_fact(db, Fact(id="f-one", subject=SECRET, predicate="opens", object="the shop", recorded_at=1))
        put_diary(db, DiaryEntry(id="d-one", agent="claude", text=f"wrote {SECRET} down", written_at=1))
        put_entries(db, [draft("document:docs/a.md", f"key: {SECRET}", title=SECRET, headings=(f"About {SECRET}",))])
    home.take_in(PrivacyConfig())
    assert home.finds(PrivacyConfig(), f"kind:learning,fact,diary,document {SECRET}") >= 4
    home.take_in(OWN)
    assert home.holding() == []
    assert home.finds(OWN, f"kind:learning,fact,diary,document {SECRET}") == 0
    assert home.finds(OWN, "kind:fact shop") == 1
    assert home.finds(OWN, "kind:document key") == 1
