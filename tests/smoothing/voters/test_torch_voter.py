"""Networks in the forms that libraries give them: what they are called with, and what they return."""

from collections import OrderedDict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from smoothing.classifiers import NOISE, make_inputs, without_seconds
from smoothing.small_models import Counting
from torch import Tensor, nn

from ellzero.smoothing import Certified, CertifySettings, MaskNoise, SmoothedClassifier
from ellzero.smoothing.errors import ModelFailed
from ellzero.smoothing.voters.torch_voter import estimate_batch_size

X = make_inputs(1)[0]


class Wrapped(nn.Module):
    """A network whose scores come in some form, and whose input may have a name."""

    def __init__(self, form: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.inner, self.form = Counting(8, 3), form

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Any:
        shown = input_ids if attention_mask is None else input_ids * attention_mask
        return self.form(self.inner(shown))


FORMS: dict[str, Callable[[Tensor], Any]] = {
    "an attribute": lambda scores: SimpleNamespace(logits=scores),
    "a dictionary": lambda scores: {"logits": scores, "hidden_states": None},
    "a model output": lambda scores: OrderedDict(loss=None, logits=scores),
    "a tuple": lambda scores: (scores, torch.zeros(3)),
    "a tuple of an output": lambda scores: (SimpleNamespace(logits=scores), None),
}


def certify(model: nn.Module, **options: Any) -> Certified:
    classifier = SmoothedClassifier(model, NOISE, 3, feed="levels", **options)
    task = classifier.task(X, CertifySettings.of(20, 300, "0.01", 7, "never"))
    return without_seconds(next(classifier.sampler.run([task])))


@pytest.mark.parametrize("form", FORMS)
def test_scores_in_an_output_are_those_of_a_tensor(form: str) -> None:
    assert certify(Wrapped(FORMS[form])) == certify(Counting(8, 3))


def test_a_mapping_of_inputs_becomes_keywords() -> None:
    def add_mask(levels: Tensor) -> dict[str, Tensor]:
        return {"input_ids": levels + 1, "attention_mask": (levels > 0).long()}

    class Masked(Counting):
        def forward(self, levels: Tensor) -> Tensor:
            return super().forward((levels + 1) * (levels > 0))

    assert certify(Wrapped(FORMS["an attribute"]), preprocess=add_mask) == certify(Masked(8, 3))


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (lambda scores: {"scores": scores}, "returned dict instead of a tensor, or an output with `logits`"),
        (lambda scores: SimpleNamespace(scores=scores), "returned SimpleNamespace instead of a tensor"),
        (lambda scores: (), "returned tuple instead of a tensor"),
        (lambda scores: (None, scores), "returned tuple instead of a tensor"),
        (
            lambda scores: SimpleNamespace(logits=scores[:, :2]),
            r"returned a tensor of shape \(\d+, 2\) for \d+ samples",
        ),
        (lambda scores: SimpleNamespace(logits=scores * float("nan")), "returned NaN"),
        (lambda scores: scores * 1j, "returned scores that cannot be compared"),
        (lambda scores: scores.to("meta"), "returned scores that cannot be compared"),
    ],
)
def test_an_output_without_scores_is_one_clear_line(form: Callable[[Tensor], Any], message: str) -> None:
    with pytest.raises(ModelFailed, match=f"^the model {message}"):
        certify(Wrapped(form))


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.int32, torch.float16, torch.bfloat16, torch.float8_e4m3fn], ids=str
)
def test_scores_of_any_type_are_compared_by_their_values(dtype: torch.dtype) -> None:
    def round_to(other: torch.dtype) -> Callable[[Tensor], Tensor]:
        return lambda scores: nn.functional.one_hot(scores.argmax(1), 3).to(other)

    assert certify(Wrapped(round_to(dtype))) == certify(Wrapped(round_to(torch.float64)))


def test_a_network_without_weights_is_one_clear_line() -> None:
    with pytest.raises(ModelFailed, match="^the model raised NotImplementedError: Cannot copy out of meta tensor"):
        SmoothedClassifier(nn.Linear(8, 3, device="meta"), NOISE, 3)


def test_a_batch_suits_outputs_of_any_form() -> None:
    class Wide(nn.Module):
        def forward(self, inputs: Tensor) -> dict[str, Any]:
            return {"logits": inputs[:, :2], "hidden": (inputs.repeat(1, 100_000), [inputs])}

    assert estimate_batch_size(Wide(), torch.zeros(1, 8)) == 4
    assert estimate_batch_size(Wrapped(FORMS["a tuple"]), {"input_ids": torch.zeros(1, 8, dtype=torch.int64)}) == 1_024


def test_a_transformer_of_hugging_face_votes_as_its_logits_say() -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=12, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, num_labels=3
    )
    bert = transformers.BertForSequenceClassification(config)

    class Logits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, tokens: Tensor) -> Tensor:
            logits: Tensor = self.bert(input_ids=tokens, attention_mask=(tokens != 11).long()).logits
            return logits

    def add_mask(tokens: Tensor) -> dict[str, Tensor]:
        return {"input_ids": tokens, "attention_mask": (tokens != 11).long()}

    def votes(model: nn.Module, **options: Any) -> tuple[int, ...]:
        classifier = SmoothedClassifier(model, MaskNoise(10, "0.8"), 3, feed="levels", **options)
        return classifier.certify(torch.arange(9), 20, 200, seed=1, stopping="never").counts

    assert votes(bert, preprocess=add_mask) == votes(Logits())
    assert votes(bert, preprocess=add_mask, batch_size=7) == votes(Logits())
