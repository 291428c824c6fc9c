"""A session's facts: merges patches and finds the repository. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from recollect.model.own import INTERNAL_ORIGINATOR
from recollect.model.sessions import SessionPatch, named_after, repo_name

_MODELS = 32


class SessionFacts(msgspec.Struct, omit_defaults=True):
    """What of a session no question filters on, stored as one value. Native ids are as the agent wrote them."""

    title: str = ""
    first_human: str = ""
    cwd: str = ""
    cwd_first: str = ""
    repo_root: str = ""
    git_commit: str = ""
    git_remote: str = ""
    tool_version: str = ""
    originator: str = ""
    parent_session: str = ""
    forked_from: str = ""
    resumed_from: str = ""
    agent_name: str = ""
    models: list[str] = []
    is_internal: bool = False
    """A program of ours ran it: kept and shown, never remembered."""

    def take(self, patch: SessionPatch) -> None:
        """Merge a patch: the newest title, cwd and commit, the first of everything else."""
        self.title = patch.title or self.title
        self.cwd = patch.cwd or self.cwd
        self.git_commit = patch.git_commit or self.git_commit
        self.first_human = named_after(self.first_human, patch.first_human)
        self.cwd_first = self.cwd_first or patch.cwd_first or patch.cwd
        self.repo_root = patch.repo_root or self.repo_root
        self.git_remote = patch.git_remote or self.git_remote
        self.tool_version = self.tool_version or patch.tool_version
        self.originator = self.originator or patch.originator
        self.parent_session = self.parent_session or patch.parent_session
        self.forked_from = self.forked_from or patch.forked_from
        self.resumed_from = self.resumed_from or patch.resumed_from
        self.agent_name = self.agent_name or patch.agent_name
        for model in patch.models:
            if model not in self.models and len(self.models) < _MODELS:
                self.models = [*self.models, model]


class FolderFacts(msgspec.Struct):
    """Of the facts of a session only where it worked."""

    cwd: str = ""
    cwd_first: str = ""
    repo_root: str = ""
    git_remote: str = ""


encode_facts = msgspec.msgpack.Encoder().encode
decode_facts = msgspec.msgpack.Decoder(SessionFacts).decode
decode_folders = msgspec.msgpack.Decoder(FolderFacts).decode
decode_counts = msgspec.json.Decoder(dict[str, int]).decode


def encode_counts(counts: dict[str, int]) -> str:
    """Return counts per kind as stored."""
    return msgspec.json.encode(counts).decode()


def repo_of(facts: SessionFacts) -> str:
    """Return the name of the repository that a session worked in, see `model.sessions.repo_name`."""
    return repo_name(facts.repo_root, facts.git_remote, facts.cwd_first or facts.cwd)


def domain_of(repo: str, domains: Mapping[str, str]) -> str:
    """Return the domain that the configuration gives a repository, "" where it gives none."""
    return domains.get(repo) or domains.get(repo.lower(), "")


def is_internal(facts: SessionFacts, patch: SessionPatch, own_folders: Sequence[str]) -> bool:
    """Return whether a session is our own: started by our program, or in the memory's own folder."""
    if facts.is_internal or INTERNAL_ORIGINATOR in (facts.originator, patch.originator):
        return True
    cwd = facts.cwd_first or patch.cwd_first or patch.cwd
    return bool(cwd) and any(is_below(cwd, folder) for folder in own_folders)


def is_below(path: str, folder: str) -> bool:
    """Return whether a path is a folder or is inside it. On Windows neither slashes nor case matter."""
    path, folder = _comparable(path), _comparable(folder)
    return path == folder or path.startswith(folder + "/")


def _comparable(path: str) -> str:
    is_windows = path[1:2] == ":" or path.startswith("\\\\")
    return (path.replace("\\", "/").casefold() if is_windows else path).rstrip("/")
