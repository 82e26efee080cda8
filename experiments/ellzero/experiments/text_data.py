"""Sentences with classes: files of one sentence a line, the vocabulary of a training split, and sentences as tokens."""

import hashlib
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ellzero.experiments.folder import ExperimentFolder
from ellzero.smoothing.data.datasets import hold_out
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.errors import BadData

PADDING, UNKNOWN, MASK = 0, 1, 2
"""The tokens that are no words: what fills the end of a row, a word that the vocabulary lacks, and a hidden one."""

PARTS: Final = ("train", "validation", "test")
_WORDS_FROM = 3
_LEAST_TRAINING = 20  # so that two are held out


@dataclass(frozen=True)
class Corpus:
    """A data set by the names of its files. Without one for validation, a tenth of its training sentences is held
    out."""

    name: str
    title: str
    train: str
    validation: str | None
    test: str

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(file for file in (self.train, self.validation, self.test) if file is not None)


SST2: Final = Corpus("sst2", "SST-2", "stsa.binary.train", "stsa.binary.dev", "stsa.binary.test")
TREC: Final = Corpus("trec", "TREC", "TREC.train.all", None, "TREC.test.all")
CORPORA: Final = (SST2, TREC)


@dataclass(frozen=True)
class Sentences:
    """Sentences as lower-case words, split at white space, and the class of each."""

    words: tuple[tuple[str, ...], ...]
    labels: tuple[int, ...]

    def take(self, indices: Sequence[int]) -> "Sentences":
        """Those with these indices."""
        return Sentences(tuple(self.words[index] for index in indices), tuple(self.labels[index] for index in indices))


@dataclass(frozen=True)
class CorpusSplits:
    """The sentences of a corpus by part, and the SHA-256 of each of its files."""

    corpus: Corpus
    parts: Mapping[str, Sentences]
    digests: Mapping[str, str]

    @property
    def num_classes(self) -> int:
        return max(self.parts["train"].labels) + 1


def read_corpora(folder: Path, seed: int) -> list[CorpusSplits]:
    """Every corpus of which the folder has a file. `BadData` names what is missing of one, or of all."""
    here = [corpus for corpus in CORPORA if any((folder / file).exists() for file in corpus.files)]
    if not here:
        needed = "; or ".join(", ".join(corpus.files) for corpus in CORPORA)
        raise BadData(str(folder), f"has no sentences: needed are {needed}")
    return [_read_corpus(folder, corpus, seed) for corpus in here]


def read_sentences(path: Path) -> Sentences:
    """The sentences of a file, whose lines have a class, an integer from 0 on, and words. UTF-8, or else Latin-1."""
    return _parse(path, _read_bytes(path))


def make_vocabulary(training: Sentences, size: int) -> dict[str, int]:
    """The token of each of the ``size`` most frequent training words; of equally frequent ones the first counts."""
    counts = Counter(word for words in training.words for word in words)
    return {word: token for token, (word, _) in enumerate(counts.most_common(size), _WORDS_FROM)}


def write_tokens(folder: ExperimentFolder, splits: CorpusSplits, words: int) -> dict[str, DataSource]:
    """Each part as a data set of tokens, written to ``data/`` of the experiment's folder: rows as long as the longest
    sentence of all parts, whose padding is protected."""
    vocabulary = make_vocabulary(splits.parts["train"], words)
    longest = max(len(words) for part in splits.parts.values() for words in part.words)
    metadata = {"levels": len(vocabulary) + _WORDS_FROM, "padding": PADDING, "shape": [longest]}
    sources = {}
    for name, sentences in splits.parts.items():
        tokens = [[vocabulary.get(word, UNKNOWN) for word in words] for words in sentences.words]
        columns = {"x": pa.array(tokens, pa.list_(pa.int32())), "y": pa.array(sentences.labels, pa.int64())}
        table = pa.table(columns).replace_schema_metadata({key: json.dumps(value) for key, value in metadata.items()})
        content = io.BytesIO()
        pq.write_table(table, content)
        path = folder.subfolder("data") / f"{splits.corpus.name}-{name}.parquet"
        path.write_bytes(content.getvalue())
        sources[name] = DataSource(str(path), "test", None, 224, None)
    return sources


def write_made_up_corpus(folder: Path, seed: int) -> Path:
    """Made-up reviews in the files of SST-2, for trying things out: a few words tell the class, the others nothing."""
    telling = (("awful", "dull", "bad", "boring", "weak"), ("superb", "moving", "good", "funny", "bright"))
    others = ("a", "film", "the", "story", "with", "its", "and", "cast", "plot", "scene", "of", "this")
    generator = np.random.Generator(np.random.Philox(key=seed))
    for file, count in zip(SST2.files, (600, 80, 80), strict=True):
        lines = []
        for _ in range(count):
            label, length = int(generator.integers(2)), int(generator.integers(4, 13))
            words = [
                str(generator.choice(telling[label] if generator.random() < 0.6 else others)) for _ in "x" * length
            ]
            lines.append(f"{label} {' '.join(words)}\n")
        (folder / file).write_text("".join(lines), encoding="utf-8")
    return folder


def _read_corpus(folder: Path, corpus: Corpus, seed: int) -> CorpusSplits:
    contents = {file: _read_bytes(folder / file) for file in corpus.files}
    sentences = {file: _parse(folder / file, content) for file, content in contents.items()}
    training = sentences[corpus.train]
    if len(training.labels) < _LEAST_TRAINING or len(set(training.labels)) < 2:
        wanted = f"at least {_LEAST_TRAINING} sentences, of two classes or more"
        raise BadData(str(folder / corpus.train), f"must have {wanted}, and has {len(training.labels)} sentences")
    for file, others in sentences.items():
        if unknown := sorted(set(others.labels) - set(training.labels)):
            raise BadData(str(folder / file), f"has the class {unknown[0]}, which no training sentence has")
    if corpus.validation is None:
        held_out, rest = hold_out(len(training.labels), seed)
        parts = (training.take(rest.tolist()), training.take(held_out.tolist()), sentences[corpus.test])
    else:
        parts = (training, sentences[corpus.validation], sentences[corpus.test])
    digests = {file: hashlib.sha256(content).hexdigest() for file, content in contents.items()}
    return CorpusSplits(corpus, dict(zip(PARTS, parts, strict=True)), digests)


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise BadData(str(path), "is missing") from None
    except OSError as error:
        raise BadData(str(path), f"cannot be read: {error.strerror}") from error


def _parse(path: Path, content: bytes) -> Sentences:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    rows = [line.split() for line in text.split("\n") if line.strip()]
    for number, row in enumerate(rows, 1):
        if len(row) < 2 or not (row[0].isascii() and row[0].isdigit()):
            raise BadData(
                str(path), f"must have a class, such as 0, and then words in each line; sentence {number} not"
            )
    if not rows:
        raise BadData(str(path), "has no sentences")
    return Sentences(tuple(tuple(word.lower() for word in row[1:]) for row in rows), tuple(int(row[0]) for row in rows))
