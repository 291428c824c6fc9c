"""What is read from the archive is redacted; a long text that is known to hold no secret is not searched again."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.archive.keys import load_or_create_keys
from recollect.config import PrivacyConfig
from recollect.privacy.redact import Redactor
from recollect.store.home import LONG_CHARS, LazyRedactor

SECRET = "ghp_" + "x7Kq" * 9


@pytest.fixture
def redactor(tmp_path: Path) -> LazyRedactor:
    load_or_create_keys(tmp_path)
    return LazyRedactor(tmp_path, PrivacyConfig())


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are searched for secrets."""
    texts: list[str] = []
    redact_text = Redactor.redact_text

    def noting(self: Redactor, text: str) -> object:
        texts.append(text)
        return redact_text(self, text)

    monkeypatch.setattr(Redactor, "redact_text", noting)
    return texts


def test_a_long_text_without_secrets_is_searched_once(redactor: LazyRedactor, searched: list[str]) -> None:
    text = "plain words \ud800 " * LONG_CHARS
    assert redactor.redact_text(text) == redactor.redact_text(text) == (text, ())
    assert searched == [text]


def test_a_secret_is_replaced_each_time(redactor: LazyRedactor) -> None:
    text = "plain words " * LONG_CHARS + SECRET
    for _ in range(2):
        redacted, found = redactor.redact_text(text)
        assert SECRET not in redacted
        assert found
