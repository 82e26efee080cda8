"""Certify a transformer of Hugging Face's classes, small and untrained here. `python examples/hugging_face.py` runs it.

With weights of your own: ``AutoModelForSequenceClassification.from_pretrained(...)``, and the ids of its tokenizer.
"""

import torch
from torch import Tensor
from transformers import BertConfig, BertForSequenceClassification

from ellzero.smoothing import CertifySettings, MaskNoise, SmoothedClassifier

VOCABULARY, PADDING, START, END, MASK = 100, 0, 1, 2, 3
SENTENCES = [[START, 17, 42, 99, 5, END], [START, 64, 8, END, PADDING, PADDING]]


def name_inputs(tokens: Tensor) -> dict[str, Tensor]:
    """What the model is called with: padding is neither read nor attended to."""
    return {"input_ids": tokens, "attention_mask": (tokens != PADDING).long()}


def main() -> None:
    """Hide tokens at random, and certify that no change of few of them changes the answer."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    model = BertForSequenceClassification(config)

    noise = MaskNoise(k=VOCABULARY - 1, m="0.8", mask_token=MASK)  # hidden tokens are the tokenizer's own [MASK]
    classifier = SmoothedClassifier(model, noise, num_classes=2, feed="levels", preprocess=name_inputs)
    inputs = torch.tensor(SENTENCES)
    fixed = torch.isin(inputs, torch.tensor([PADDING, START, END]))  # nobody changes these
    settings = CertifySettings.of(n0=100, n=1_000, failure="0.001", seed=1)
    for result in classifier.certify_many(inputs, settings, protected=fixed):
        print(f"class {result.prediction}, whatever {result.radius} of {result.d} words become")


if __name__ == "__main__":
    main()
