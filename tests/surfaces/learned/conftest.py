"""A repository with one session, its memory as the user's own, and a way to run the program in it."""

from __future__ import annotations

import pytest

from tests.cli.conftest import recollect
from tests.ingest.conftest import world
from tests.recall.context.conftest import Session, Shop, shop

__all__ = ["recollect", "shop", "told", "world"]


@pytest.fixture
def told(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Return a session that was taken in; the program then runs in its repository, with its memory."""
    session = shop.session("one").work("fix the cart total", "Cents are integers now.")
    shop.memory.sync()
    for name, value in {**shop.world.env, "RECOLLECT_HOME": str(shop.memory.home)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(shop.path)
    return session
