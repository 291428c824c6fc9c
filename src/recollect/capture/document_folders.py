"""Folders of project documents: their names, which files are documents, and the walk that finds changes."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Collection, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from recollect.capture.gitignore import IGNORE_NAMES, MAX_IGNORE_BYTES, NO_RULES, IgnoreRules, IgnoreStack
from recollect.capture.gitignore import lines_of as ignore_lines
from recollect.config.settings import DocumentsConfig

MAX_NAME_CHARS = 80
PROJECT_FILES = ("recollect.toml", ".recollect.toml")
"""TOML; `[documents]`, `collection = "NAME"`."""
MEMPALACE_FILES = ("mempalace.yaml", "mempalace.yml", "mempal.yaml", "mempal.yml")
"""Of MemPalace: a project that moves over keeps the name of its wing."""
_MAX_BYTES = 64 * 1024
_WING = re.compile(
    r"^wing:[ \t]+(?P<word>\"[^\"\r\n]{1,200}\"|'[^'\r\n]{1,200}'|\w[^\r\n#:{}\[\]]{0,200})", re.MULTILINE
)
_NO_NAME = re.compile(r"[\x00-\x1f\x7f/\\#]")


class ProjectName(NamedTuple):
    """A collection's name and the file that gives it, "" without one. problem: of a skipped file."""

    name: str
    file: str
    problem: str = ""


def is_name(text: str) -> bool:
    """Return whether a text can name a collection: no slash, `#` or control character, not too long, not padded."""
    return 0 < len(text) <= MAX_NAME_CHARS and _NO_NAME.search(text) is None and text == text.strip()


def as_name(text: str) -> str:
    """Return the name nearest to what a folder or repository is called."""
    printable = text.encode("utf-8", "replace").decode()
    return _NO_NAME.sub("-", printable).strip()[:MAX_NAME_CHARS].strip() or "documents"


def project_name(folder: str) -> ProjectName:
    """Return the name that a folder's own files give it. Never raises for what they hold; nothing in them is run."""
    problem = ""
    for file in (*PROJECT_FILES, *MEMPALACE_FILES):
        path = os.path.join(folder, file)
        if os.path.islink(path) or not os.path.isfile(path):
            continue
        try:
            with open(path, "rb") as handle:
                said = _said(handle.read(_MAX_BYTES).decode(), is_toml=file in PROJECT_FILES)
        except (OSError, ValueError, RecursionError) as error:
            problem = problem or f"{file} was skipped: {type(error).__name__}"
            continue
        if isinstance(said, str) and is_name(said.strip()):
            return ProjectName(said.strip(), file, problem)
        if said is not None:
            problem = problem or f"{file} was skipped: it contains no valid name"
    return ProjectName("", "", problem)


def _said(text: str, *, is_toml: bool) -> object:
    """Return what a file says the name is, None for nothing. Raises ValueError.

    Of YAML only the one line is read that MemPalace itself writes: a plain or quoted word at the top.
    """
    if is_toml:
        documents = tomllib.loads(text).get("documents")
        return documents.get("collection") if isinstance(documents, dict) else None
    found = _WING.search(text)
    return found["word"].strip().strip("\"'") if found is not None else None


DocumentFormat = Literal["markdown", "rst", "asciidoc", "org", "text"]
"""How the headings of a document are written; text: it has none."""

FORMATS: Final[dict[str, DocumentFormat]] = {
    "md": "markdown", "mdx": "markdown", "markdown": "markdown", "rst": "rst", "adoc": "asciidoc",
    "asciidoc": "asciidoc", "org": "org", "txt": "text", "text": "text", "yml": "text", "yaml": "text", "toml": "text",
    "sh": "text", "bash": "text", "zsh": "text", "fish": "text", "ksh": "text", "mk": "text",
}  # fmt: skip
"""By the end of a name, in any case."""

DOCUMENT_NAMES: Final[tuple[str, ...]] = tuple(
    """
    package.json tsconfig*.json jsconfig*.json composer.json deno.json *.schema.json openapi*.json swagger*.json
    asyncapi*.json
    Dockerfile* *.Dockerfile Containerfile* Makefile GNUmakefile Justfile .justfile Jenkinsfile Procfile Vagrantfile
    LICENSE* LICENCE* COPYING* NOTICE* README CHANGELOG CHANGES HISTORY NEWS CONTRIBUTING CONTRIBUTORS AUTHORS
    MAINTAINERS CODEOWNERS SECURITY INSTALL TODO ROADMAP FAQ
    """.split()
)
"""Documents whose ending does not tell, in any case."""

OUTSIDE_NAMES: Final[tuple[str, ...]] = tuple(
    """
    package-lock.json npm-shrinkwrap.json pnpm-lock.yaml conda-lock.yml pubspec.lock *.lock *.lockfile *.lock.json
    *-lock.json *.lock.yml *.lock.yaml *.min.*
    node_modules/ bower_components/ jspm_packages/ vendor/ third_party/ Pods/ .venv/ venv/ virtualenv/ site-packages/
    __pycache__/ *.egg-info/ *.dist-info/ .eggs/ .tox/ .nox/ .cache/ .*_cache/ .npm/ .yarn/ .pnpm-store/ .gradle/
    .terraform/ .direnv/ .idea/ .vs/ .ipynb_checkpoints/ .hypothesis/
    build/ dist/ out/ target/ _build/ _site/ .next/ .nuxt/ .output/ .svelte-kit/ .docusaurus/ .parcel-cache/ .turbo/
    .vercel/ .serverless/ coverage/ htmlcov/ .nyc_output/ DerivedData/
    """.split()
)
"""Lock files, output of builds, caches, other people's packages. The weakest rules: a `.recollectignore` with an
exclamation mark takes any of them in again."""

_NEVER_FOLDERS: Final = frozenset((".git", ".hg", ".svn", ".jj", ".bzr", ".pijul", "_darcs", "cvs"))
VIRTUAL_ENVIRONMENT: Final = "pyvenv.cfg"
"""A folder with this file is a virtual environment, whatever it is called."""

_SECRET_NAMES: Final[tuple[str, ...]] = tuple(
    """
    .env .env.* *.env .envrc .netrc _netrc .npmrc .yarnrc .yarnrc.yml .pypirc .pgpass .my.cnf .htpasswd .htaccess
    .git-credentials .dockercfg .dockerconfigjson .boto .s3cfg .vault-token .authinfo kubeconfig* *.kubeconfig
    auth.json hosts.yml oauth*.json token*.json service-account*.json service_account*.json client_secret*.json
    application_default_credentials.json firebase-adminsdk*.json gcp-key*.json
    id_rsa* id_dsa* id_ecdsa* id_ed25519* *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk *.asc *.gpg *.age
    *.tfvars *.tfvars.json *.tfstate
    .aws/ .ssh/ .gnupg/ .kube/ .azure/ .gcloud/ .docker/
    """.split()
)
_SECRET_WORDS: Final[tuple[str, ...]] = tuple(
    """
    *credential* *secret* *password* *passwd* *apikey* *api_key* *api-key* *private_key* *private-key*
    recovery-codes* recovery_codes*
    """.split()
)
_PROSE: Final = frozenset(("md", "mdx", "markdown", "rst", "adoc", "asciidoc", "org"))
"""A page called `secrets.md` tells how to keep secrets; `secrets.yml` and `passwords.txt` hold them."""

_documents = IgnoreRules(DOCUMENT_NAMES, is_any_case=True)
_secrets = IgnoreRules(_SECRET_NAMES, is_any_case=True)
_secret_words = IgnoreRules(_SECRET_WORDS, is_any_case=True)
OUTSIDE: Final = IgnoreRules(OUTSIDE_NAMES, is_any_case=True)


def is_never_entered(name: str) -> bool:
    """Return whether a folder belongs to a version control system or holds credentials, whatever the rules say."""
    return name.lower() in _NEVER_FOLDERS or _secrets.says(name, is_folder=True) is True


def may_hold_secrets(name: str) -> bool:
    """Return whether a file is never opened because its name suggests credentials."""
    if _secrets.says(name, is_folder=False):
        return True
    return _ending(name) not in _PROSE and _secret_words.says(name, is_folder=False) is True


def is_document_name(name: str) -> bool:
    """Return whether a file is a document by its name alone."""
    return _ending(name) in FORMATS or _documents.says(name, is_folder=False) is True


def format_of(name: str) -> DocumentFormat:
    """Return how a document's headings are written. Names without a known ending are text."""
    return FORMATS.get(_ending(name), "text")


def _ending(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    return ending.lower() if dot and stem else ""


MOST_LEVELS = 100
"""Folders deeper than this are listed, not entered."""
FoundKind = Literal["document", "listed", "folder", "unlisted"]


class FoundDocument(NamedTuple):
    """A path found by a walk. path: relative to the folder, "/"-separated.

    kind: `document`: to be read. `listed`: would be one, but is never read: see reason. `folder`: was entered; a change
    of its entries may bring a document. `unlisted`: a folder that cannot be listed now: known files below it may still
    exist. Times in nanoseconds, as the system gives them.
    """

    kind: FoundKind
    path: str
    reason: str = ""
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0


class WalkRules:
    """The rules besides a folder's own ignore files."""

    def __init__(
        self, *, include: Sequence[str] = (), exclude: Sequence[str] = (), max_file_bytes: int,
        never: Collection[str] = (),
    ) -> None:  # fmt: skip
        """include, exclude: see `[documents]`. never: folders (absolute) that are not entered, the memory's own."""
        self.include = IgnoreRules(include)
        self.exclude = IgnoreRules(exclude)
        self.max_file_bytes = max_file_bytes
        self.never = frozenset(os.path.realpath(path) for path in never)


def walk_rules(documents: DocumentsConfig, *, never: Collection[str]) -> WalkRules:
    """Return the rules of a configuration."""
    return WalkRules(
        include=documents.include, exclude=documents.exclude, max_file_bytes=documents.max_file_bytes, never=never
    )


class _Here(NamedTuple):
    """A folder that is to be listed."""

    path: str
    relative: str
    stack: IgnoreStack
    levels: int


class _Item(NamedTuple):
    name: str
    path: str
    is_link: bool
    is_folder: bool


def walk(folder: str, rules: WalkRules, *, only: Collection[str] | None = None) -> Iterator[FoundDocument]:
    """Yield what there is below a folder, every folder's entries in the order of their names. Raises nothing.

    only: paths below the folder ("/"-separated) that changed: of the rest nothing is looked at; None: everything.
    Cost: about a second for 100,000 entries; memory for the entries of one folder.
    """
    top = os.path.abspath(folder)
    wanted = None if only is None else _Wanted(only)
    base, stack = _above(top)
    waiting = [_Here(top, "", stack, 0)]
    while waiting:
        here = waiting.pop()
        deeper: list[_Here] = []
        for found, below in _look(here, base, rules, wanted):
            if found is not None:
                yield found
            if below is not None:
                deeper.append(below)
        waiting += deeper[::-1]


def _look(
    here: _Here, base: str, rules: WalkRules, wanted: _Wanted | None
) -> Iterator[tuple[FoundDocument | None, _Here | None]]:
    """Yield what is in one folder, and the folders that are to be entered."""
    names = None if wanted is None else wanted.names_in(here.relative)
    try:
        # All entries are listed also where only some are asked for: the ignore files among them count.
        with os.scandir(here.path) as entries:
            listed = {entry.name: entry for entry in entries}
    except OSError as error:
        yield FoundDocument("unlisted", here.relative.rstrip("/"), _why(error)), None
        return
    if VIRTUAL_ENVIRONMENT in listed and here.relative:
        return
    try:
        stack = here.stack.below(base + here.relative, _own_rules(here.path, listed))
    except OSError as error:
        yield FoundDocument("unlisted", here.relative.rstrip("/"), f"its ignore file: {_why(error)}"), None
        return
    yield FoundDocument("folder", here.relative.rstrip("/")), None
    for name in sorted(listed if names is None else names & listed.keys()):
        entry = listed[name]
        try:
            item = _Item(name, entry.path, _is_link(entry), entry.is_dir(follow_symlinks=False))
        except OSError:
            continue  # gone since
        relative = here.relative + name
        if item.is_folder and not item.is_link:
            if _is_entered(item, relative, base, stack, rules):
                if here.levels >= MOST_LEVELS or not _is_utf8(name):
                    reason = "is nested too deeply" if _is_utf8(name) else "has a name that is not UTF-8"
                    yield FoundDocument("listed", _printable(relative), reason), None
                else:
                    yield None, _Here(item.path, f"{relative}/", stack, here.levels + 1)
        else:
            found = _file(item, relative, base, stack, rules)
            if found is not None:
                yield found, None


def _is_entered(item: _Item, relative: str, base: str, stack: IgnoreStack, rules: WalkRules) -> bool:
    if is_never_entered(item.name) or rules.exclude.says(relative, is_folder=True):
        return False
    if rules.never and os.path.realpath(item.path) in rules.never:
        return False
    return not _is_ignored(base, relative, stack, rules, is_folder=True)


def _is_ignored(base: str, relative: str, stack: IgnoreStack, rules: WalkRules, *, is_folder: bool) -> bool:
    said = stack.says(base + relative, is_folder=is_folder)
    if said is not None:
        return said
    name = relative.rpartition("/")[2]
    return OUTSIDE.says(name, is_folder=is_folder) is True and not rules.include.says(relative, is_folder=is_folder)


def _file(item: _Item, relative: str, base: str, stack: IgnoreStack, rules: WalkRules) -> FoundDocument | None:
    """Return what a file or link is; None if it is no document."""
    is_wanted = is_document_name(item.name) or rules.include.says(relative, is_folder=False) is True
    if not is_wanted and not (item.is_link and os.path.isdir(item.path)):
        return None
    if rules.exclude.says(relative, is_folder=False) or _is_ignored(base, relative, stack, rules, is_folder=False):
        return None
    if not _is_utf8(item.name):
        return FoundDocument("listed", _printable(relative), "has a name that is not UTF-8")
    if may_hold_secrets(item.name):
        return FoundDocument("listed", relative, "is never opened: its name says that it contains credentials")
    try:
        info = os.lstat(item.path)
    except OSError:
        return None  # gone since
    if item.is_link:
        return FoundDocument("listed", relative, _where_to(item.path), *_marks(info))
    if not stat.S_ISREG(info.st_mode):
        return FoundDocument("listed", relative, "is not a regular file", *_marks(info))
    if info.st_size > rules.max_file_bytes:
        return FoundDocument("listed", relative, f"is larger than {rules.max_file_bytes:,} bytes", *_marks(info))
    return FoundDocument("document", relative, "", *_marks(info))


def _where_to(path: str) -> str:
    """Say where a link leads. None is followed: what is inside the folder is found at its own place."""
    try:
        return f"is a link to {os.readlink(path)}".encode("utf-8", "replace").decode()
    except OSError:
        return "is a link"


def _marks(info: os.stat_result) -> tuple[int, int, int]:
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns


def _is_link(entry: os.DirEntry[str]) -> bool:
    is_junction = getattr(entry, "is_junction", None)  # Python 3.12, and something else than False only on Windows
    return entry.is_symlink() or (is_junction is not None and bool(is_junction()))


def _own_rules(folder: str, names: Collection[str]) -> IgnoreRules:
    """Return the rules of a folder's ignore files. Raises OSError for one that exists and cannot be read."""
    lines: list[str] = []
    for name in IGNORE_NAMES:
        if name in names:
            lines += _read_lines(os.path.join(folder, name))
    return IgnoreRules(lines) if lines else NO_RULES


def _read_lines(path: str) -> list[str]:
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    if os.path.islink(path) or not os.path.isfile(path):
        return []  # as git, which reads no ignore file through a link
    with os.fdopen(os.open(path, flags), "rb") as file:
        return ignore_lines(file.read(MAX_IGNORE_BYTES))


def _above(top: str) -> tuple[str, IgnoreStack]:
    """Return the path from the top of the git repository to the folder, and the rules above the folder."""
    above: list[str] = [top]
    while not os.path.lexists(os.path.join(above[-1], ".git")):
        parent = os.path.dirname(above[-1])
        if parent == above[-1]:
            return "", IgnoreStack()
        above.append(parent)
    git = above[-1]
    layers = [("", _rules_or_none(os.path.join(git, ".git", "info"), ("exclude",)))]
    for folder in above[:0:-1]:
        prefix = os.path.relpath(folder, git).replace(os.sep, "/") + "/" if folder != git else ""
        layers.append((prefix, _rules_or_none(folder, IGNORE_NAMES)))
    base = os.path.relpath(top, git).replace(os.sep, "/") + "/" if top != git else ""
    return base, IgnoreStack(layers)


def _rules_or_none(folder: str, names: Sequence[str]) -> IgnoreRules:
    lines: list[str] = []
    for name in names:
        try:
            lines += _read_lines(os.path.join(folder, name))
        except OSError:
            continue  # above what was named: not ours to complain about
    return IgnoreRules(lines)


class _Wanted:
    """Paths, each of which includes everything below it."""

    def __init__(self, paths: Collection[str]) -> None:
        self._paths = {path.strip("/") for path in paths}
        self._named: dict[str, set[str]] = {}
        for path in self._paths:
            below = path
            while below:
                folder, _, name = below.rpartition("/")
                self._named.setdefault(folder, set()).add(name)
                below = folder

    def names_in(self, relative: str) -> frozenset[str] | None:
        """Return which entries of a folder ("" or with a slash at its end) are looked at; None: all."""
        folder = relative.rstrip("/")
        above = folder
        while True:
            if above in self._paths:
                return None
            if not above:
                return frozenset(self._named.get(folder, ()))
            above = above.rpartition("/")[0]


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _printable(path: str) -> str:
    return path.encode("utf-8", "replace").decode()


def _why(error: OSError) -> str:
    return error.strerror or type(error).__name__
