"""The transcripts that are measured: generated ones, the real ones, and a flood of distinct terms."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.support.places import Places
from recollect.config import AgentConfig, Config

FLOOD_TERMS = 3_000_000
_TERMS_PER_RECORD = 2_000
_RECORDS_PER_SESSION = 100


class Corpus(NamedTuple):
    """Transcripts to take in. variables: the agents' own variables; roots: further folders by slug."""

    name: str
    folder: Path
    variables: dict[str, tuple[str, Path]]
    roots: dict[str, Path]

    def config(self, **extra_roots: Path) -> Config:
        """Return the configuration of a memory that takes in exactly these transcripts (and `extra_roots` by slug)."""
        agents: dict[str, AgentConfig] = {}
        for slug in ("claude", "codex"):
            roots = [str(places[slug]) for places in (self.roots, extra_roots) if slug in places]
            variables = {self.variables[slug][0]: str(self.variables[slug][1])} if slug in self.variables else {}
            agents[slug] = AgentConfig(roots=tuple(roots), variables=variables)
        return Config(agents=agents)

    def files(self) -> list[Path]:
        """Return every transcript."""
        tops = [*(path for _, path in self.variables.values()), *self.roots.values()]
        return sorted(p for top in tops for p in top.rglob("*.jsonl"))

    def manifest(self) -> dict[str, Any]:
        """Return what the generator says of it; empty for others."""
        path = self.folder / "manifest.json"
        return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def generated(folder: Path) -> Corpus:
    """Return the corpus in a folder that the generator wrote."""
    if not (folder / "manifest.json").is_file():
        raise FileNotFoundError(f"{folder} has no manifest.json: it was not written by gen_corpus.py")
    variables = {"claude": ("CLAUDE_CONFIG_DIR", folder / "claude"), "codex": ("CODEX_HOME", folder / "codex")}
    megabytes = round(json.loads((folder / "manifest.json").read_text("utf-8"))["bytes"] / 1e6)
    return Corpus(f"generated {megabytes} MB", folder, variables, {})


def generate(places: Places, *, megabytes: int, sessions: int, seed: int, arms: bool = False) -> Corpus:
    """Return a generated corpus, written into the cache unless it is there."""
    folder = places.cache / "corpora" / f"mb{megabytes}-s{sessions}-seed{seed}{'-arms' if arms else ''}"
    if not (folder / "manifest.json").is_file():
        if not places.generator.is_file():
            raise FileNotFoundError(f"no {places.generator}; name the folder with --shared")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        command = [sys.executable, str(places.generator), "make", "--out", str(folder), "--mb", str(megabytes)]
        command += ["--sessions", str(sessions), "--seed", str(seed), *(["--arms", "all"] if arms else [])]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return generated(folder)


def standard(places: Places, given: list[Path]) -> list[Corpus]:
    """Return the generated corpora to measure: those given, else 300 MB and 1 GB."""
    if given:
        return [generated(folder.resolve()) for folder in given]
    return [
        generate(places, megabytes=300, sessions=600, seed=7),
        generate(places, megabytes=1000, sessions=2000, seed=11),
    ]


def real_paths(places: Places, *, only_real: bool, folders: Sequence[str] = ("claude-code", "codex")) -> list[str]:
    """Return the paths of transcripts in these folders of the shared corpus, relative to it; no folders: all."""
    index = places.real_corpus / "index.json"
    if not index.is_file():
        raise FileNotFoundError(f"no {index}; name the folder with --shared")
    listed = json.loads(index.read_text("utf-8"))["files"]
    return [
        x["path"]
        for x in listed
        if (not folders or x["path"].split("/")[0] in folders) and (x.get("real") or not only_real)
    ]


def real(places: Places, *, only_real: bool) -> Corpus:
    """Return the real transcripts of both agents, copied into the cache file by file."""
    name = "real transcripts" if only_real else "real transcripts and fixtures"
    folder = places.cache / "corpora" / ("real" if only_real else "real-and-fixtures")
    _copy(places, real_paths(places, only_real=only_real), folder)
    for slug in ("claude-code", "codex"):
        (folder / slug).mkdir(parents=True, exist_ok=True)
    return Corpus(name, folder, {}, {"claude": folder / "claude-code", "codex": folder / "codex"})


def real_of_every_agent(places: Places) -> Path:
    """Return the folder of every agent's real transcripts, copied into the cache file by file."""
    folder = places.cache / "corpora" / "real-of-every-agent"
    _copy(places, real_paths(places, only_real=True, folders=()), folder)
    return folder


def _copy(places: Places, paths: Sequence[str], folder: Path) -> None:
    for path in paths:
        target = folder / path
        if not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(places.real_corpus / path, target)


def flood_term(number: int) -> str:
    """Return the n-th term: eight letters in four open syllables, distinct for every number below 10^8."""
    # A step that shares no factor with 10^8 visits every combination once, so neighbours look unlike each other.
    rest, syllables = (number * 61_803_399) % 100_000_000, []
    for _ in range(4):
        rest, digit = divmod(rest, 100)
        syllables.append("bcdfghjklmnpqrstvwxz"[digit // 5] + "aeiou"[digit % 5])
    return "".join(syllables)


def flood(places: Places, *, terms: int = FLOOD_TERMS) -> Corpus:
    """Return sessions whose tool outputs hold `terms` distinct terms, written into the cache unless they are there."""
    folder = places.cache / "corpora" / f"flood-{terms}"
    corpus = Corpus("flood of distinct terms", folder, {"claude": ("CLAUDE_CONFIG_DIR", folder / "claude")}, {})
    if (folder / "done").is_file():
        return corpus
    project = folder / "claude" / "projects" / "-home-dev-src-flood"
    project.mkdir(parents=True, exist_ok=True)
    starts = range(0, terms, _TERMS_PER_RECORD * _RECORDS_PER_SESSION)
    for session, first in enumerate(starts):
        last = min(terms, first + _TERMS_PER_RECORD * _RECORDS_PER_SESSION)
        session_id = f"f100d000-0000-4000-a000-{session:012d}"
        lines = [json.dumps(r) + "\n" for r in _flood_records(session_id, first, last)]
        (project / f"{session_id}.jsonl").write_text("".join(lines), "utf-8")
    (folder / "done").touch()
    return corpus


def _flood_records(session_id: str, first: int, last: int) -> list[dict[str, Any]]:
    base = {"isSidechain": False, "userType": "external", "cwd": "/home/dev/src/flood", "sessionId": session_id}
    base |= {"version": "2.0.55", "gitBranch": "main"}
    records: list[dict[str, Any]] = []
    parent = None

    def add(kind: str, message: dict[str, Any]) -> None:
        nonlocal parent
        uuid = f"{session_id[:-12]}{int(session_id[-12:]) * 10_000 + len(records) + 1:012d}"
        moment = f"2026-11-01T{len(records) // 60 % 24:02d}:{len(records) % 60:02d}:00.000Z"
        records.append(
            {"parentUuid": parent, **base, "type": kind, "message": message, "uuid": uuid, "timestamp": moment}
        )
        parent = uuid

    add("user", {"role": "user", "content": "List the next terms."})
    for start in range(first, last, _TERMS_PER_RECORD):
        text = " ".join(flood_term(n) for n in range(start, min(last, start + _TERMS_PER_RECORD)))
        call = f"toolu_{session_id[-4:]}{start:010d}"
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"terms --from {start}"}}
        add("assistant", {"role": "assistant", "id": f"msg_{call}", "type": "message", "content": [use]})
        add("user", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]})
    return records
