"""Certificates on strings of letters: does a DNA string repeat a motif? The answer stays if up to R letters change."""

import torch
from torch import Tensor, nn

from ellzero.smoothing import CertifySettings, DiscreteNoise, SmoothedClassifier, add_noise

LETTERS, MOTIF, COPIES, LENGTH = "ACGT", "CAG", 16, 50
NOISE = DiscreteNoise(k=len(LETTERS) - 1, alpha="0.5")  # half of all letters stay, the rest become one of the others


class MotifCounter(nn.Module):
    """Learned patterns of two motifs' length, and how strongly they match all over the string."""

    def __init__(self) -> None:
        super().__init__()
        self.patterns, self.scores = nn.Conv1d(len(LETTERS), 8, 2 * len(MOTIF)), nn.Linear(8, 2)

    def forward(self, letters: Tensor) -> Tensor:
        shown = nn.functional.one_hot(letters, len(LETTERS)).float().transpose(1, 2)
        scores: Tensor = self.scores(self.patterns(shown).relu().square().sum(2))
        return scores


def make_strings(count: int) -> tuple[Tensor, Tensor]:
    """Random strings; every second one has the motif many times in a row."""
    repeat = torch.tensor([LETTERS.index(letter) for letter in MOTIF * COPIES])
    strings, labels = torch.randint(len(LETTERS), (count, LENGTH)), torch.arange(count) % 2
    for string in strings[1::2]:
        start = int(torch.randint(LENGTH - len(repeat), ()))
        string[start : start + len(repeat)] = repeat
    return strings, labels


def main() -> None:
    """Train on noisy strings, and certify others."""
    torch.manual_seed(0)
    strings, labels = make_strings(2_000)
    model = MotifCounter()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(200):
        batch = torch.randint(len(strings), (100,))
        noisy = add_noise(strings[batch], NOISE, seed=0, step=step, feed="levels")
        loss = nn.functional.cross_entropy(model(noisy), labels[batch])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    strings, labels = make_strings(10)
    classifier = SmoothedClassifier(model, NOISE, num_classes=2, feed="levels")
    settings = CertifySettings.of(n0=100, n=2_000, failure="0.001", seed=1)
    for string, label, result in zip(strings, labels, classifier.certify_many(strings, settings), strict=True):
        letters = "".join(LETTERS[letter] for letter in string)
        print(f"{letters}  class {label}, answer {result.prediction}, radius {result.radius}")


if __name__ == "__main__":
    main()
