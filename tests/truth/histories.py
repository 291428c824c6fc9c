"""Forty histories of which it is known what was undone, superseded, fixed, left open and done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.truth.writers import AGENTS, Session


class Play(NamedTuple):
    """Where a history is played: the folder of all agents, and its repository. A `yield` in a history is a sync."""

    root: Path
    repo: Path
    agent: type[Session]

    def session(self, day: int) -> Session:
        """Begin a session on a day."""
        return self.agent(self.root, f"{self.repo.name} {day}", repo=self.repo, day=day)


class Facts(NamedTuple):
    """What is so at the end. Words, as they stand in what was said.

    holds: decisions that hold. never: what nothing may state as if it held. open, fixed: commands that failed, and
    were, or were not, seen to pass. pending, done: actions. line: of `settings.py`, put there by an edit that no
    decision with a word of `never` led to.
    """

    holds: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    line: str = ""


class History(NamedTuple):
    """A history, the agent it is played with, and what is so at its end."""

    name: str
    agent: type[Session]
    play: Callable[[Play], Iterator[None]]
    facts: Facts


def undone(wrong: str, right: str) -> Callable[[Play], Iterator[None]]:
    """Something is said and carried out, the person goes back to before it, and says something else."""

    def play(at: Play) -> Iterator[None]:
        session = at.session(1)
        session.user("Look at the repository and tell me what is in it.")
        session.assistant("A small service with a settings file.")
        session.user(wrong)
        session.assistant("I have changed the settings.")
        session.edit("settings.py", "", "CHOSEN = 'wrong'\n")
        yield
        session.undo()
        session.user(right)
        session.assistant("I have changed the settings.")
        session.edit("settings.py", "CHOSEN = 'wrong'", "CHOSEN = 'right'")
        yield

    return play


def superseded(first: str, second: str, *, is_same_day: bool = False) -> Callable[[Play], Iterator[None]]:
    """Something is decided, and later something else instead of it."""

    def play(at: Play) -> Iterator[None]:
        session = at.session(1)
        session.user(first)
        session.assistant("I have changed the settings.")
        session.edit("settings.py", "", "CHOSEN = 'first'\n")
        yield
        later = session if is_same_day else at.session(3)
        later.user(second)
        later.assistant("I have changed them.")
        later.edit("settings.py", "CHOSEN = 'first'", "CHOSEN = 'second'")
        yield

    return play


def fixed(fails: str, passes: str, by: str = "") -> Callable[[Play], Iterator[None]]:
    """A command fails, something is changed, and the same, or as much, passes in a later session."""

    def play(at: Play) -> Iterator[None]:
        session = at.session(1)
        session.user("Run the checks.")
        session.run(fails, "AssertionError: 3 != 4\n1 failed", fails=True)
        session.assistant("It fails.")
        yield
        later = at.session(2)
        later.user("Make them pass.")
        if by:
            later.run(by, "done")
        else:
            later.edit("settings.py", "", "CENTS = 100\n")
        later.run(passes, "4 passed")
        later.assistant("They pass now.")
        yield

    return play


def still_open(fails: str, passes: str = "") -> Callable[[Play], Iterator[None]]:
    """A command fails and nothing that shows otherwise passes."""

    def play(at: Play) -> Iterator[None]:
        session = at.session(1)
        session.user("Run the checks.")
        session.run(fails, "AssertionError: 3 != 4\n1 failed", fails=True)
        session.edit("settings.py", "", "CENTS = 100\n")
        if passes:
            session.run(passes, "2 passed")
        session.assistant("I have to stop here.")
        yield

    return play


def told(*said: str) -> Callable[[Play], Iterator[None]]:
    """A person says things, each in a session of its own."""

    def play(at: Play) -> Iterator[None]:
        for day, text in enumerate(said, 1):
            session = at.session(day)
            session.user(text)
            session.assistant("Noted.")
            yield

    return play


_ALL: tuple[tuple[str, Callable[[Play], Iterator[None]], Facts], ...] = (
    (
        "undone cache",
        undone("Let's use Redis for the session cache.", "Let's use Memcached for the session cache."),
        Facts(holds=("Memcached",), never=("Redis",), line="CHOSEN = 'right'"),
    ),
    (
        "undone store",
        undone("Use MongoDB for the invoices.", "Use Postgres for the invoices."),
        Facts(holds=("Postgres",), never=("MongoDB",), line="CHOSEN = 'right'"),
    ),
    (
        "undone ban",
        undone("Never call the payment gateway from a test.", "Call the sandbox gateway in the tests."),
        Facts(never=("Never call",)),
    ),
    (
        "undone preference",
        undone("From now on, always format with black.", "What does the settings file do?"),
        Facts(never=("black",)),
    ),
    (
        "undone action",
        undone("Remind me to rotate the Stripe key next week.", "What does the settings file do?"),
        Facts(never=("Stripe",), done=("Stripe",)),
    ),
    (
        "undone bundler",
        undone("We go with webpack for the frontend.", "We go with vite for the frontend."),
        Facts(holds=("vite",), never=("webpack",), line="CHOSEN = 'right'"),
    ),
    (
        "undone in German",
        undone("Wir nehmen MySQL für die Bestellungen.", "Wir nehmen Postgres für die Bestellungen."),
        Facts(holds=("Postgres",), never=("MySQL",)),
    ),
    (
        "undone correction",
        undone("No, don't use mocks, use the real gateway.", "Which tests use mocks?"),
        Facts(never=("real gateway",)),
    ),
    (
        "superseded cache",
        superseded("Let's use Redis for the queue.", "Let's use RabbitMQ instead of Redis for the queue."),
        Facts(holds=("RabbitMQ",), never=("use Redis for",)),
    ),
    (
        "superseded hash",
        superseded(
            "Let's use argon2 for password hashing in the auth module.",
            "Actually, let's switch to scrypt for the auth module.",
        ),
        Facts(holds=("scrypt",), never=("argon2",)),
    ),
    (
        "superseded store",
        superseded("Use SQLite for the ledger.", "Let's switch from SQLite to Postgres for the ledger."),
        Facts(holds=("Postgres",), never=("Use SQLite",)),
    ),
    (
        "superseded on one day",
        superseded("Let's use tabs in the templates.", "No tabs, let's use spaces in the templates.", is_same_day=True),
        Facts(holds=("spaces",), never=("use tabs",)),
    ),
    (
        "superseded ban",
        superseded("Never use threads in the importer.", "Let's use threads in the importer after all."),
        Facts(holds=("after all",), never=("Never use threads",)),
    ),
    (
        "superseded client",
        superseded("We use requests for the HTTP client.", "Replace requests with httpx for the HTTP client."),
        Facts(never=("We use requests",)),
    ),
    (
        "superseded in German",
        superseded("Wir nehmen Jest für die Tests.", "Wir nehmen Vitest statt Jest für die Tests."),
        Facts(holds=("Vitest",), never=("nehmen Jest",)),
    ),
    (
        "superseded twice",
        superseded("Let's use Bottle for the admin page.", "Use Flask instead of Bottle for the admin page."),
        Facts(holds=("Flask",), never=("use Bottle for",)),
    ),
    ("fixed by an edit", fixed("pytest -q tests/cart", "pytest -q tests/cart"), Facts(fixed=("pytest -q tests/cart",))),
    ("fixed in the whole", fixed("pytest tests/cart", "pytest -q"), Facts(fixed=("pytest tests/cart",))),
    ("fixed by an install", fixed("npm test", "npm test", by="npm install"), Facts(fixed=("npm test",))),
    ("fixed with a runner", fixed("pytest tests/api", "uv run pytest tests/api"), Facts(fixed=("pytest tests/api",))),
    ("fixed build", fixed("cargo build", "cargo build"), Facts(fixed=("cargo build",))),
    ("fixed lint", fixed("make lint", "make lint"), Facts(fixed=("make lint",))),
    ("fixed types", fixed("mypy src", "mypy src"), Facts(fixed=("mypy src",))),
    ("fixed from another folder", fixed("cd web && npm test", "cd web && npm test"), Facts(fixed=("npm test",))),
    ("open test", still_open("pytest -q tests/tax"), Facts(open=("pytest -q tests/tax",))),
    ("open beside another", still_open("pytest tests/tax", "pytest tests/cart"), Facts(open=("pytest tests/tax",))),
    ("open build", still_open("make build", "make lint"), Facts(open=("make build",))),
    ("open types", still_open("tsc --noEmit"), Facts(open=("tsc --noEmit",))),
    ("open in a part", still_open("go test ./...", "go test ./cart"), Facts(open=("go test ./...",))),
    ("open script", still_open("npm run build", "npm run lint"), Facts(open=("npm run build",))),
    (
        "open migration",
        still_open("alembic upgrade head && pytest", "alembic current"),
        Facts(open=("alembic upgrade head",)),
    ),
    ("open check", still_open("cargo test", "cargo build"), Facts(open=("cargo test",))),
    ("done key", told("Remind me to rotate the Sentry key.", "Done: rotate the Sentry key."), Facts(done=("Sentry",))),
    (
        "done urgent",
        told("Urgent: remind me to renew the TLS certificate.", "I renewed the TLS certificate, that's done."),
        Facts(done=("certificate",)),
    ),
    (
        "done in German",
        told("Erinnere mich daran, das Backup einzurichten.", "Erledigt: das Backup eingerichtet."),
        Facts(done=("Backup",)),
    ),
    (
        "done by name",
        told("Remind me later to delete the feature flag old_checkout.", "Done: delete the feature flag old_checkout."),
        Facts(done=("old_checkout",)),
    ),
    (
        "pending beside done",
        told(
            "Remind me to update the changelog for 2.4.",
            "For later: archive the March invoices.",
            "Done: archive the March invoices.",
        ),
        Facts(pending=("changelog",), done=("March invoices",)),
    ),
    (
        "pending after a word",
        told("Don't let me forget to pin the linter version.", "The import is done, thanks."),
        Facts(pending=("linter",)),
    ),
    ("pending urgent", told("Urgent: remind me to revoke the leaked deploy token."), Facts(pending=("deploy token",))),
    (
        "pending twice",
        told("Remind me to document the retry limits.", "Please remind me to document the retry limits!"),
        Facts(pending=("retry limits",)),
    ),
)

HISTORIES = tuple(
    History(name, AGENTS[number % len(AGENTS)], play, facts) for number, (name, play, facts) in enumerate(_ALL)
)
