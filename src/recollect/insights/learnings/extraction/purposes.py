"""Finds the purpose and the canonical form of a shell command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from recollect.insights.commands import Simple
from recollect.late import late_pattern

Purpose = Literal["test", "lint", "format", "typecheck", "build", "run", "install", "deploy"]

SAID: Final[dict[Purpose, str]] = {
    "test": "Tests run with",
    "lint": "Lint runs with",
    "format": "Code is formatted with",
    "typecheck": "Types are checked with",
    "build": "The build runs with",
    "run": "The program starts with",
    "install": "Packages are installed with",
}
"""How a learning of each purpose begins. No learning tells an agent to deploy."""

HINT: Final = late_pattern(
    r"test|spec|lint|build|check|tox|nox|jest|mocha|ruff|mypy|prettier|tsc|fmt|format|cargo|clippy|gradle|mvn"
    r"|install|\badd\b"
    r"|\bsync\b|\bci\b|compile|\bdev\b|start|serve|\bmake\b|\bjust\b|version|black|biome|ctest|cmake|pyright|\bgo\b"
    r"|dotnet|isort|apply|deploy|migrate|\bup\b|upgrade|terraform|tofu"
    r"|flake8|rubocop|vet\b|\brun\b|ansible|\byarn\b|\bbun\b|\bnode -v|-V\b"
)
"""What every command that has a purpose, or asks for a version, has in it somewhere."""

_TASKS: Final[tuple[tuple[Purpose, re.Pattern[str]], ...]] = (
    (
        "test",
        late_pattern(
            r"(?:.*[:_./-])?(?:tests?|spec|specs|e2e|unit|integration|pytest|vitest|jest|coverage)(?:[:_./-].*)?"
        ),
    ),
    ("typecheck", late_pattern(r"(?:.*[:_./-])?(?:type-?check|types|tsc|mypy|pyright|check-types)(?:[:_./-].*)?")),
    ("format", late_pattern(r"(?:.*[:_./-])?(?:fmt|format|prettier|black)(?:[:_./-].*)?")),
    ("lint", late_pattern(r"(?:.*[:_./-])?(?:lint|eslint|ruff|clippy|check|verify)(?:[:_./-].*)?")),
    ("install", late_pattern(r"(?:install|deps|setup|bootstrap|dependencies)(?:[:_./-].*)?")),
    ("build", late_pattern(r"(?:.*[:_./-])?(?:build|compile|bundle|dist|package)(?:[:_./-].*)?")),
    ("run", late_pattern(r"(?:dev|start|serve|preview|run)(?:[:_./-].*)?")),
    ("deploy", late_pattern(r"(?:.*[:_./-])?(?:deploy|apply|migrate)(?:[:_./-].*)?")),
)
"""Names of tasks, by what they are for; the first that fits."""
_RUNNERS: Final = frozenset(
    "npm yarn pnpm bun deno make gmake just task mise rake invoke inv hatch pdm poe nx turbo composer".split()
)
_RUN_WORDS: Final = ("run", "run-script", "r", "tasks")
_MAY_NAME_RUN: Final = frozenset(("make", "gmake", "just", "task", "rake", "poe", "invoke", "inv"))

_BY_PURPOSE: Final[tuple[tuple[Purpose, str], ...]] = (
    ("test", "pytest py.test unittest jest vitest mocha ava rspec phpunit pest ctest tox nox nose2 bats busted karma"),
    (
        "lint",
        "eslint golangci-lint pylint flake8 shellcheck rubocop stylelint hadolint markdownlint oxlint staticcheck",
    ),
    ("lint", "ktlint swiftlint luacheck standard xo yamllint"),
    ("format", "black prettier gofmt goimports rustfmt isort clang-format gofumpt shfmt stylua yapf autopep8"),
    ("typecheck", "mypy pyright basedpyright tsc vue-tsc svelte-check ty pytype dmypy"),
    ("run", "uvicorn gunicorn nodemon ts-node tsx streamlit"),
    ("deploy", "ansible-playbook"),
)
_TOOLS: Final[dict[str, Purpose]] = {name: purpose for purpose, names in _BY_PURPOSE for name in names.split()}
"""Programs of one purpose."""
_FIRST_WORDS: Final[tuple[tuple[Purpose, str, str], ...]] = (
    (
        "test",
        "test",
        "go cargo dotnet mvn mvnw swift mix deno bun npm gradle gradlew rails playwright flutter dart sbt zig",
    ),
    ("test", "test", "stack cabal lein"),
    ("test", "t", "npm"),
    ("test", "nextest", "cargo"),
    ("test", "run", "cypress"),
    ("lint", "check", "ruff biome"),
    ("lint", "lint", "biome deno next buf"),
    ("lint", "clippy", "cargo"),
    ("lint", "vet", "go"),
    ("lint", "analyze", "dart flutter"),
    ("format", "fmt", "cargo go deno terraform"),
    ("format", "format", "ruff biome mix dotnet dart"),
    ("typecheck", "check", "cargo deno astro"),
    ("build", "build", "go cargo dotnet gradle gradlew swift vite next docker flutter zig stack cabal uv poetry hugo"),
    ("build", "build", "mkdocs tsup webpack"),
    ("build", "package", "mvn mvnw"),
    ("build", "compile", "mvn mvnw sbt mix"),
    ("build", "assemble", "gradle gradlew"),
    ("run", "run", "go cargo flask dotnet"),
    ("run", "dev", "next vite"),
    ("run", "server", "rails"),
    ("run", "up", "docker-compose"),
    ("install", "install", "npm pnpm yarn bun poetry bundle composer pdm pipenv conda mamba"),
    ("install", "add", "pnpm yarn bun uv poetry cargo pdm"),
    ("install", "i", "npm pnpm"),
    ("install", "ci", "npm"),
    ("install", "sync", "uv"),
    ("install", "require", "composer"),
    ("install", "get", "go"),
    ("install", "deps.get", "mix"),
    ("install", "restore", "dotnet"),
    ("deploy", "init", "terraform tofu"),
    ("deploy", "plan", "terraform tofu"),
    ("deploy", "apply", "terraform tofu kubectl"),
    ("deploy", "up", "pulumi"),
    ("deploy", "upgrade", "helm alembic"),
    ("deploy", "deploy", "cdk sam serverless fly"),
)
_SUBCOMMANDS: Final[dict[tuple[str, str], Purpose]] = {
    (program, word): purpose for purpose, word, programs in _FIRST_WORDS for program in programs.split()
}
"""Programs whose purpose their first word tells, by both."""
_PREPARING: Final = frozenset(
    "cd pushd popd export set source . mkdir echo printf true : sleep ulimit umask unset local alias setopt pwd date"
    " clear which ls cat git".split()
)
_PASSING_ON: Final = frozenset(
    "time timeout sudo nice nohup env command builtin exec doas then do stdbuf setsid".split()
)
"""Words before a command that say nothing of the project."""
_PLACED: Final = frozenset("-C --prefix --directory --filter --workspace -w --project -p --manifest-path --cwd".split())
"""Options that say on which part of the repository a command works."""
_ONLY_ASKS: Final = frozenset(
    ("--help", "-h", "--version", "-V", "--collect-only", "--co", "--list", "-l", "--dry-run", "-n", "--init")
)


class Purposeful(NamedTuple):
    """A simple command with a purpose. at: its place in the line. text: its canonical form. folder: where it was
    run, as written, "" for where the session works."""

    purpose: Purpose
    at: int
    text: str
    folder: str


def purposeful(commands: Sequence[Simple]) -> list[Purposeful]:
    """Return the simple commands of a line that have a purpose, in order."""
    found: list[Purposeful] = []
    folder = ""
    for index, simple in enumerate(commands):
        if simple.program in ("cd", "pushd") and len(simple.words) > 1:
            folder = simple.words[1]
            continue
        made = _of(simple)
        if made is not None:
            found.append(Purposeful(made[0], index, made[1], folder))
    return found


def is_preparing(simple: Simple) -> bool:
    """Return whether a simple command only prepares or reads: a command line is not about it."""
    return simple.program in _PREPARING and not (simple.program == "git" and simple.words[1:2] == ("commit",))


def _of(simple: Simple) -> tuple[Purpose, str] | None:
    words = simple.words
    if not words or _ONLY_ASKS.intersection(words[1:6]) - (
        {"-n", "-l"} if simple.program not in ("make", "prettier") else set()
    ):
        return None
    rest = [word for word in words[1:] if not word.startswith("-")]
    program = _shown(words[0])
    if not program:
        return None
    before = _wrappers(simple.runs_for)
    if any(word in ("-g", "--global", "--user") for word in words):
        return None
    head = " ".join([*map(_shown, before), program])
    if len(head) > 80:
        return None
    of_program = simple.program
    if of_program in _RUNNERS:
        task = _task(of_program, words[1:])
        if task is not None:
            return task[0], " ".join((head, *task[1]))
    first = rest[0] if rest else ""
    if (purpose := _SUBCOMMANDS.get((of_program, first))) is not None:
        return purpose, f"{head} {_FULL.get((of_program, first), first)}"
    if (purpose := _TOOLS.get(of_program)) is not None:
        return purpose, f"{head} {first}" if first in ("run", "build", "check") else head
    if of_program == "pip" and first == "install":
        return "install", f"{head} install"
    if of_program in ("gradlew", "gradle", "mvn", "mvnw") and rest:
        purpose_of_task = next(
            (p for p, pattern in _TASKS if pattern.fullmatch(rest[-1].rpartition(":")[2].lower())), None
        )
        return (purpose_of_task, f"{head} {rest[-1]}") if purpose_of_task else None
    return _script(head, of_program, rest)


def _wrappers(runs_for: Sequence[str]) -> list[str]:
    """Return the words before a command that the project needs: `uv run`, `mise exec --`, `python -m`."""
    kept: list[str] = []
    for word in runs_for:
        is_needed = "=" not in word and (not word.startswith("-") or word in ("-m", "--"))
        is_about_running = not kept and (word in _PASSING_ON or word[0].isdigit())  # "timeout 60"
        if is_needed and not is_about_running:
            kept.append(word)
    return kept


_FULL: Final = {("npm", "t"): "test", ("npm", "i"): "install", ("pnpm", "i"): "install"}
_SCRIPTS: Final = frozenset("bash sh zsh python python3 node pwsh ruby perl".split())


def _script(head: str, program: str, rest: Sequence[str]) -> tuple[Purpose, str] | None:
    """Return the purpose of a script of the project that is called for what it does (`./scripts/lint.sh`)."""
    name = rest[0] if program in _SCRIPTS and rest else head
    if not re.fullmatch(r"(?:\./)?(?:[\w.-]{1,40}/){0,4}[\w.-]{1,40}", name) or ("/" not in name and "." not in name):
        return None
    stem = name.rpartition("/")[2].partition(".")[0].lower().replace("-", "_")
    known: dict[Purpose, tuple[str, ...]] = {
        "test": ("test", "tests", "run_tests", "runtests"),
        "lint": ("lint", "check"),
        "build": ("build",),
    }
    for purpose, names in known.items():
        if stem in names:
            return purpose, f"{head} {name}" if name != head else head
    return None


def _task(program: str, words: Sequence[str]) -> tuple[Purpose, list[str]] | None:
    """Return the purpose of a runner's task, and the words that name it."""
    kept: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word in _PLACED and at + 1 < len(words) and not (program == "make" and word == "-p"):
            kept += [word, _shown(words[at + 1])]
            at += 2
            continue
        if not word.startswith("-"):
            break
        at += 1
    if at < len(words) and words[at] in _RUN_WORDS and (at + 1 < len(words) or program not in _MAY_NAME_RUN):
        kept.append("run")
        at += 1
        while at < len(words) and words[at].startswith("-"):
            at += 1
    if at >= len(words):
        return ("build", kept) if program in ("make", "gmake") and not kept[1:2] else None
    name = words[at]
    if (program, name) in _SUBCOMMANDS and "run" not in kept:
        return None
    if not re.fullmatch(r"[\w:.@/-]{1,60}", name):
        return None
    purpose = next((p for p, pattern in _TASKS if pattern.fullmatch(name.lower())), None)
    return (purpose, [*kept, name]) if purpose is not None else None


def _shown(word: str) -> str:
    """Return a word as a learning may show it: of an absolute path only its name, "" for anything but a plain word."""
    plain = word.replace("\\", "/")
    if plain.startswith(("/", "~")) or plain[1:2] == ":":
        plain = plain.rpartition("/")[2]
    return plain if re.fullmatch(r"[\w.@/+:-]{1,80}", plain) else ""
