"""Which tools a person says are to be used, and which not: "we switched to pnpm", "not pip, conda".

A name alone says nothing ("never commit the npm token"): it must stand by itself, beside words of use or refusal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from recollect.late import late_pattern

ALIKE: Final = tuple(
    frozenset(names.split())
    for names in (
        "npm npx pnpm yarn bun", "pip uv poetry pipenv pdm conda mamba",
        "bundle", "mvn mvnw maven gradle gradlew", "jest vitest mocha jasmine karma", "pytest unittest nose",
        "eslint biome oxlint", "flake8 pylint ruff", "black yapf autopep8 ruff", "prettier biome",
        "mypy pyright basedpyright pytype",
    )
)  # fmt: skip
"""Tools of which a project uses one: package managers by ecosystem, then what tests, lints, formats, checks types."""
TOOLS: Final = frozenset().union(*ALIKE)
_MANAGERS: Final = ALIKE[:4]
_INSTALLING: Final = frozenset("add i ci sync".split())
_RUNNING: Final = frozenset("run exec python".split())
_VERSION: Final = late_pattern(r"(?<=\w)(?:[=<>~!@\[].*)")
NAMES_TOOL: Final = late_pattern(rf"\b(?:{'|'.join(sorted(TOOLS))})\b")

_PIECE: Final = late_pattern(r"[\w@+/-]+(?:[.:'][\w@+/-]+)*|[,;:.!?()–—]")
_AND: Final = frozenset("and or but und oder aber sondern y o et ou mais pero e".split())
_FILLERS: Final = frozenset("only just plain exclusively more nur mehr auch lieber".split())
_WITH: Final = frozenset(
    "use uses using with via through run prefer choose chose pick adopt adopted instead always"
    " nutze nutzen nutzt benutzen benutzt verwende verwenden verwendet nimm nehmen mit durch über immer"
    " utilise utilisez utilisons avec usa usar usamos con com".split()
)
"""Words before a tool that is used."""
_THAN: Final = frozenset(("of", "than", "over"))
"""Words before one that another tool stands in for: "rather than"."""
_NEGATORS: Final = frozenset(
    "not no never without don't dont stop avoid nicht nie niemals kein keine keinen ohne pas jamais sans sin nunca sem"
    " não".split()
)
_AGAINST: Final = _NEGATORS.union(
    _THAN, "drop dropped ditch ditched replace replaces replaced ersetzt ersetzen statt anstatt".split()
)
"""Words before one that is not used."""
_SPEAKING: Final = frozenset(
    "please do we you i i'd that's from now on in this repo project here also bitte wir du ihr ab jetzt sofort hier"
    " c'est".split()
)
"""Words before a negator that forbids; behind others it tells how something is: "the tests never pass with jest"."""
_FROM: Final = frozenset("from off von weg".split())
_TO: Final = frozenset("to on onto auf zu".split())
_SWITCHED: Final = frozenset(
    "switch switched switching move moved moving migrate migrated migrating changed went gone are we're i'm back"
    " standardize standardized standardise standardised umgestiegen umgestellt gewechselt wechseln umsteigen sind"
    " setzen zurück".split()
)
"""Words beside these that make them words of use: "we're back on npm"."""
_COMES: Final = frozenset("come comes get install installed kommen".split())
_ROLES: Final = ("manager", "runner", "linter", "formatter", "checker")
_ELSEWHERE: Final = frozenset(
    "they he she ci upstream er ils elles ellos if unless wenn falls could would might".split()
)
"""Words of a clause that tells what others do, or what might be."""
_MINE: Final = frozenset("i i've i'd ich".split())
_ALL: Final = frozenset("everything all alles immer".split())
_OUT: Final = frozenset("out gone banned forbidden dead history deprecated off weg raus verboten tabu abgelöst".split())
_INSTEAD: Final = frozenset("instead over rather statt anstatt not nicht".split())
_HANDLES: Final = frozenset("manages handles replaces replaced verwaltet ersetzt".split())
_AFTER: Final = _AND.union(
    _INSTEAD,
    _HANDLES,
    "is was has are for in on at to from by since because as if when where with now here everywhere only any".split(),
    "again anymore longer directly please pls ever last these yet today ist war hat wird hier jetzt nur".split(),
    "überall bitte seit weil mit für im über von aus auf zu ab durch ersetzt umgestiegen umgestellt gewechselt".split(),
)
"""Words after a tool that do not make it a part of another name ("the npm token")."""


_IN_PART: Final = late_pattern(
    r"\b(?:in|inside|for|under) the (?!repo|project|code|future|tests?\b|build|whole|entire|team|company|monorepo)"
    r"|\b(?:im|in der|für (?:die|das|den)) (?!repo|projekt|code|tests?\b|ganze)"
)
"""Words for a part of the repository: what holds there says nothing of the rest."""


class SpokenTools(NamedTuple):
    """The tools that a sentence speaks of using. is_settled: it says that they are used, or not, from now on."""

    wanted: frozenset[str]
    refused: frozenset[str]
    is_settled: bool


class _Use(NamedTuple):
    name: str
    is_wanted: bool
    is_lasting: bool


def tools_in(said: str, names: Collection[str] = ()) -> SpokenTools:
    """Return the tools that a person's words want used or not. names: tools beside the known ones."""
    pieces = _names(_PIECE.findall(said.casefold().replace("’", "'").replace("hör auf", "stop")))
    uses = list(_uses(pieces, TOOLS.union(names)))
    wanted = frozenset(use.name for use in uses if use.is_wanted)
    refused = frozenset(use.name for use in uses if not use.is_wanted)
    is_contrast = any(wanted & alike and refused & alike for alike in ALIKE)
    return SpokenTools(wanted - refused, refused, is_contrast or any(use.is_lasting for use in uses))


def displaces(said: str, command: Sequence[str]) -> bool:
    """Return whether a person's words speak against a tool of a command, or for another of its kind. command: its words
    in lower case.
    """
    if _IN_PART.search(said.casefold()):
        return False
    command = _names(command)
    own = TOOLS.intersection(command) or frozenset(command[:1])
    spoken = tools_in(said, own)
    others = frozenset().union(*(alike for alike in ALIKE if alike & own)) - own
    return bool(spoken.refused & own or (spoken.wanted & others and not spoken.wanted & own))


def does_same(command: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether a command does with another package manager what the other one should have done: `uv add respx`
    for `pip install respx`. Both in lower case.
    """
    command, other = _names(command), _names(other)
    for alike in _MANAGERS:
        used, others = alike.intersection(command), alike.intersection(other)
        if used and others and used != others:
            done, wanted = _done(command, alike), _done(other, alike)
            return done == wanted or (len(wanted) > 1 and done >= wanted)
    return False


def _done(command: Sequence[str], alike: Collection[str]) -> set[str]:
    """Return what a package manager is asked to do, and with which packages."""
    words = (word.strip("\"'") for word in command if not word.startswith("-") and word not in alike)
    return {"install" if word in _INSTALLING else _VERSION.sub("", word) for word in words} - _RUNNING


def _uses(pieces: Sequence[str], names: Collection[str]) -> Iterator[_Use]:
    was_wanted: bool | None = None
    for at, piece in enumerate(pieces):
        if piece not in names:
            continue
        ends = (i + 1 for i, one in enumerate(pieces[:at]) if not _is_word(one) or (one in _AND and i < at - 1))
        start = max(ends, default=0)
        before = [word for word in pieces[start:at] if word not in _FILLERS]
        end = next((i for i in range(at + 1, len(pieces)) if not _is_word(pieces[i])), len(pieces))
        use = _use(piece, before, pieces[at + 1 : end], was_wanted)
        if use is not None:
            was_wanted = use.is_wanted
            yield use


def _use(name: str, before: Sequence[str], after: Sequence[str], was_wanted: bool | None) -> _Use | None:
    """Return how a tool between the words of its clause is spoken of, None if they are about something else."""
    if (after and after[0] not in _AFTER) or not _ELSEWHERE.isdisjoint(before):
        return None
    lead = before[-1] if before else ""
    negator = next((i for i, word in enumerate(before) if word in _NEGATORS), None)
    is_against = negator is not None
    if is_against and lead not in _NEGATORS and not _SPEAKING.issuperset(before[:negator]):
        return None
    is_switch = not _SWITCHED.isdisjoint((*before, *after))
    if lead in _FROM and not _COMES.isdisjoint(before):
        return _Use(name, True, True)
    is_out = after[:1] == ["durch"] or (not before and _is_out(after))
    if is_out or lead in _AGAINST or (lead in _FROM and is_switch):
        return _Use(name, False, lead not in _THAN and "yet" not in after)
    if after and after[0] in _INSTEAD:
        return _Use(name, True, False)
    if lead in _WITH or (lead in _TO and is_switch):
        # What I switched to is not what we use.
        is_ours = before[0] not in _MINE if lead in _TO else before[-2:-1] in (["we"], ["wir"]) or _ALL & set(before)
        return _Use(name, not is_against, is_against or bool(is_ours))
    if lead in _AND and was_wanted is not None:
        return _Use(name, was_wanted, False)
    if not before or (lead in ("is", "ist") and before[-2:-1] and before[-2].endswith(_ROLES)):
        return _Use(name, True, bool(before or _HANDLES & set(after)))
    return _Use(name, False, True) if is_against and lead not in _TO else None


def _is_out(after: Sequence[str]) -> bool:
    """Return whether words behind a tool say that it is gone: "is out", but not "is out of memory"."""
    at = next((i for i, word in enumerate(after) if word in _OUT), None)
    return at is not None and (at + 1 == len(after) or after[at + 1] in _AFTER)


def _names(words: Iterable[str]) -> list[str]:
    """Return words without the number of a version behind them: `pip3`."""
    return [word if word in TOOLS else word.rstrip("0123456789") or word for word in words]


def _is_word(piece: str) -> bool:
    return piece[0].isalnum() or piece[0] in "@_"
