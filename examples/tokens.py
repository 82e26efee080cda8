"""Certificates on token ids of any length: [CLS] and [SEP] are protected, and hidden tokens show the model's [MASK]."""

import torch
from torch import Tensor, nn

from ellzero.smoothing import CertifySettings, MaskNoise, SmoothedClassifier, add_noise

PAD, CLS, SEP, MASK, GOOD, BAD, VOCABULARY = 0, 1, 2, 3, range(4, 24), range(24, 44), 200
NOISE = MaskNoise(k=VOCABULARY - 1, m="0.8", mask_token=MASK)


class BagOfTokens(nn.Module):
    """Yours may be a transformer: it takes token ids of shape (samples, length), and returns scores."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.scores = nn.EmbeddingBag(VOCABULARY, 16, mode="sum", padding_idx=PAD), nn.Linear(16, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        scores: Tensor = self.scores(self.embedding(tokens))
        return scores


def make_sentence(label: int) -> Tensor:
    """[CLS], some words, two of three good or bad ones, [SEP]."""
    length = int(torch.randint(6, 20, ()))
    telling = torch.randint(20, (length,)) + (GOOD if label else BAD).start
    words = torch.where(torch.rand(length) < 2 / 3, telling, torch.randint(44, VOCABULARY, (length,)))
    return torch.cat([torch.tensor([CLS]), words, torch.tensor([SEP])])


def find_protected(tokens: Tensor) -> Tensor:
    """Where no adversary can change anything."""
    return torch.isin(tokens, torch.tensor([PAD, CLS, SEP]))


def main() -> None:
    """Train on noisy sentences in padded batches, and certify others, each at its own length."""
    torch.manual_seed(0)
    model = BagOfTokens()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(150):
        labels = torch.arange(64) % 2
        batch = nn.utils.rnn.pad_sequence([make_sentence(label) for label in labels.tolist()], True, PAD)
        noisy = add_noise(batch, NOISE, seed=0, step=step, feed="levels", protected=find_protected(batch))
        loss = nn.functional.cross_entropy(model(noisy), labels)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    sentences = [make_sentence(label) for label in (0, 1) * 5]
    classifier = SmoothedClassifier(model, NOISE, num_classes=2, feed="levels")
    settings = CertifySettings.of(n0=100, n=2_000, failure="0.001", seed=1)
    results = classifier.certify_many(sentences, settings, protected=map(find_protected, sentences))
    for number, result in enumerate(results):
        print(f"class {number % 2}, answer {result.prediction}: any {result.radius} of {result.d} tokens may change")


if __name__ == "__main__":
    main()
