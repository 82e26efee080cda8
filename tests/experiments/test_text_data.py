"""Files of sentences: read as they are published, turned into tokens, or refused in one line."""

import json
from pathlib import Path

import pytest

from ellzero.experiments import ExperimentFolder
from ellzero.experiments.text_data import (
    MASK,
    PADDING,
    SST2,
    TREC,
    UNKNOWN,
    CorpusSplits,
    Sentences,
    make_vocabulary,
    read_corpora,
    read_sentences,
    write_made_up_corpus,
    write_tokens,
)
from ellzero.smoothing.errors import BadData


def test_lines_are_a_class_and_words_in_either_encoding(tmp_path: Path) -> None:
    path = tmp_path / "sentences"
    for encoding in ("utf-8", "latin-1"):
        path.write_bytes("1 Un  café , s'il vous plaît\n0 no .\n".encode(encoding))
        sentences = read_sentences(path)
        assert sentences == Sentences((("un", "café", ",", "s'il", "vous", "plaît"), ("no", ".")), (1, 0))


@pytest.mark.parametrize("line", ["film", "good film", "1", "-1 film", "² film"])
def test_a_line_without_a_class_or_words_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "sentences"
    path.write_text(f"1 good\n{line}\n", encoding="utf-8")
    with pytest.raises(BadData, match="a class, such as 0, and then words in each line; sentence 2 not"):
        read_sentences(path)


def test_the_vocabulary_has_the_most_frequent_training_words_only() -> None:
    training = Sentences((("b", "a", "b"), ("c", "a", "b")), (0, 1))
    assert make_vocabulary(training, 2) == {"b": 3, "a": 4}
    assert len({PADDING, UNKNOWN, MASK} | set(make_vocabulary(training, 9).values())) == 6


def test_tokens_are_padded_to_the_longest_of_all_parts_and_padding_is_protected(tmp_path: Path) -> None:
    parts = {
        "train": Sentences((("a", "b", "a"), ("b",)), (0, 1)),
        "validation": Sentences((("b", "new"),), (1,)),
        "test": Sentences((("a", "b", "new", "a", "b"),), (0,)),
    }
    sources = write_tokens(ExperimentFolder(tmp_path), CorpusSplits(SST2, parts, {}), 10)
    data = {name: source.load() for name, source in sources.items()}
    assert {each.shape for each in data.values()} == {(5,)}
    assert {each.levels for each in data.values()} == {5}
    assert data["train"].inputs([0, 1]).tolist() == [[3, 4, 3, PADDING, PADDING], [4, *[PADDING] * 4]]
    assert data["test"].inputs([0]).tolist() == [[3, 4, UNKNOWN, 3, 4]]
    mask = data["train"].protected([0, 1])
    assert mask is not None
    assert mask.tolist() == [[False] * 3 + [True] * 2, [False] + [True] * 4]


def test_a_corpus_is_split_as_its_files_are_or_a_tenth_is_held_out(tmp_path: Path) -> None:
    write_made_up_corpus(tmp_path, 0)
    (tmp_path / TREC.train).write_bytes((tmp_path / SST2.train).read_bytes())
    (tmp_path / TREC.test).write_bytes((tmp_path / SST2.test).read_bytes())
    sst2, trec = read_corpora(tmp_path, 0)
    assert [len(part.labels) for part in sst2.parts.values()] == [600, 80, 80]
    assert [len(part.labels) for part in trec.parts.values()] == [540, 60, 80]
    assert sst2.parts["train"] == read_sentences(tmp_path / SST2.train)
    both = [*trec.parts["train"].words, *trec.parts["validation"].words]
    assert sorted(both) == sorted(sst2.parts["train"].words)
    assert read_corpora(tmp_path, 1)[1].parts["validation"] != trec.parts["validation"]
    assert sst2.digests[SST2.train] == trec.digests[TREC.train]
    json.dumps(dict(sst2.digests))


def test_a_folder_that_lacks_files_is_one_line_that_names_them(tmp_path: Path) -> None:
    with pytest.raises(BadData, match=r"has no sentences: needed are stsa\.binary\.train, .*; or TREC\.train\.all, "):
        read_corpora(tmp_path, 0)
    with pytest.raises(BadData, match="has no sentences"):
        read_corpora(tmp_path / "absent", 0)
    write_made_up_corpus(tmp_path, 0)
    (tmp_path / SST2.test).unlink()
    with pytest.raises(BadData, match=r"stsa\.binary\.test is missing"):
        read_corpora(tmp_path, 0)


def test_too_few_sentences_and_unknown_classes_are_refused(tmp_path: Path) -> None:
    write_made_up_corpus(tmp_path, 0)
    (tmp_path / SST2.test).write_text("7 a film\n", encoding="utf-8")
    with pytest.raises(BadData, match=r"stsa\.binary\.test has the class 7, which no training sentence has"):
        read_corpora(tmp_path, 0)
    (tmp_path / SST2.train).write_text("0 a film\n" * 30, encoding="utf-8")
    with pytest.raises(BadData, match="must have at least 20 sentences, of two classes or more, and has 30 sentences"):
        read_corpora(tmp_path, 0)
    (tmp_path / SST2.train).write_text("\n", encoding="utf-8")
    with pytest.raises(BadData, match="has no sentences"):
        read_corpora(tmp_path, 0)
