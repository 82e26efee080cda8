"""The paper's figures, where one table of it repeats another."""

from ellzero.experiments.published import IMAGENET, IMAGENET_ALPHAS, IMAGENET_BY_ALPHA, MNIST, MNIST_ALPHAS


def test_the_best_row_on_imagenet_is_the_best_of_all_alphas() -> None:
    for r, share in IMAGENET[0].accuracy.items():
        assert share == max(row[r] for row in IMAGENET_BY_ALPHA.values()), r


def test_every_row_has_its_radii_and_never_rises() -> None:
    rows = [row.accuracy for row in (*MNIST, *IMAGENET)] + list(IMAGENET_BY_ALPHA.values())
    for row in rows:
        assert list(row)[-1] == 7
        assert list(row.values()) == sorted(row.values(), reverse=True)


def test_alphas_are_those_of_the_tables() -> None:
    assert set(IMAGENET_BY_ALPHA) == set(IMAGENET_ALPHAS)
    assert len(MNIST_ALPHAS) == 7
