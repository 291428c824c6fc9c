"""Which files are documents by their name: documentation, the settings that document a project, its scripts.

What the lists say, in order: names that are never opened (they hold secrets), names that are none (lock files, output
of builds), names that are. `[documents] include` and the ignore files of a project change the last two.
"""

from __future__ import annotations

from typing import Final, Literal

from recollect.capture.project_documents.ignoring import IgnoreRules

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
    """Tell whether a folder is a version control's own, or of credentials, whatever the rules say."""
    return name.lower() in _NEVER_FOLDERS or _secrets.says(name, is_folder=True) is True


def may_hold_secrets(name: str) -> bool:
    """Tell whether a file is never opened because its name says that it holds credentials."""
    if _secrets.says(name, is_folder=False):
        return True
    return _ending(name) not in _PROSE and _secret_words.says(name, is_folder=False) is True


def is_document_name(name: str) -> bool:
    """Tell whether a file is a document by its name alone."""
    return _ending(name) in FORMATS or _documents.says(name, is_folder=False) is True


def format_of(name: str) -> DocumentFormat:
    """Return how a document's headings are written. Names without a known ending are text."""
    return FORMATS.get(_ending(name), "text")


def _ending(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    return ending.lower() if dot and stem else ""
