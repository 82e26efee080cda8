"""Certify a scikit-learn forest on its digits: no torch, no download. `python examples/scikit_forest.py` runs it."""

from collections import Counter

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from ellzero.smoothing import CertifySettings, DiscreteNoise, SmoothedClassifier, add_noise

NOISE = DiscreteNoise(k=1, alpha="0.7")  # a pixel, black or white, stays with probability 0.7
INPUTS = 20


def main() -> None:
    """Train on noisy digits, then certify some that the forest has not seen."""
    images, digits = load_digits(n_class=2, return_X_y=True)
    bits, labels = (images >= 8).astype(np.uint8), np.array(["zero", "one"])[digits]
    train, test = slice(INPUTS, None), slice(0, INPUTS)

    copies = [add_noise(bits[train], NOISE, seed=0, step=step) for step in range(8)]
    forest = RandomForestClassifier(n_estimators=50, random_state=0)
    forest.fit(np.concatenate(copies), np.tile(labels[train], len(copies)))

    classifier = SmoothedClassifier(forest, NOISE)
    settings = CertifySettings.of(n0=100, n=2_000, failure="0.001", seed=1)
    results = classifier.certify_many(bits[test], settings)
    radii = Counter(
        result.radius
        for label, result in zip(labels[test], results, strict=True)
        if result.radius is not None and forest.classes_[result.prediction] == label
    )
    for radius, inputs in sorted(radii.items()):
        print(f"{inputs} of {INPUTS} digits: the right class, whatever {radius} of {bits.shape[1]} pixels become")


if __name__ == "__main__":
    main()
