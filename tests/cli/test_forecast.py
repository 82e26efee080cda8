"""What is said before a long run: from few votes, and not at all of a short one."""

from torch import Tensor, nn

from ellzero.cli.forecast import forecast_run
from ellzero.smoothing import CertifySettings, DiscreteNoise, SmoothedClassifier
from ellzero.smoothing.data.loading import load_data


class Counted(nn.Module):
    """The class 1 for bright images, or for one sample in ten whatever it shows; counts its samples."""

    def __init__(self, shown: bool) -> None:
        super().__init__()
        self.samples, self.shown = 0, shown

    def forward(self, x: Tensor) -> Tensor:
        self.samples += len(x)
        bright = (x.flatten(1).mean(1) > 0.2) if self.shown else (16 * x).round().flatten(1).sum(1) % 10 == 0
        return nn.functional.one_hot(bright.long(), 10).double()


def forecast(
    inputs: int, settings: CertifySettings, rate: float, *, shown: bool = True, label: int = 1
) -> tuple[str | None, int]:
    """The line, and how many samples it took."""
    model = Counted(shown)
    classifier = SmoothedClassifier(model, DiscreteNoise(16, "0.9"), 10, device="cpu", batch_size=64)
    data = load_data("digits")
    indices = [at for at in range(len(data.labels)) if data.labels[at] == label][:inputs]
    assert len(indices) == inputs
    return forecast_run(classifier, data, indices, settings, rate), model.samples


SETTINGS = CertifySettings.of(100, 100_000, "0.001", 1, "staged")


def test_a_long_run_is_said_to_be_expected_never_certified() -> None:
    line, samples = forecast(20, SETTINGS, rate=1_000)
    assert line is not None
    assert line.startswith("expected μ(R): about ")
    assert line.endswith(" (from 200 votes on each of 20 inputs, not certified; --no-forecast skips this)")
    assert 20 * 200 <= samples < 20 * 200 + 100


def test_a_run_without_hope_is_said_to_be_one() -> None:
    line, _ = forecast(20, SETTINGS, rate=1_000, shown=False)
    assert line is not None
    assert line.startswith("no radius of 1 or more is expected; see `ellzero advise` (from 200 votes")


def test_nothing_is_said_of_a_short_run_or_at_a_noticeable_cost() -> None:
    assert forecast(20, SETTINGS, rate=10_000) == (None, 0)  # 200 seconds
    assert forecast(20, CertifySettings.of(10, 100, "0.001", 1, "staged"), rate=1) == (None, 0)  # 22 of 2200 votes
    assert forecast(20, SETTINGS, rate=5) == (None, 0)  # 100 votes take 20 seconds
    two = CertifySettings.of(100, 100_000, "0.001", 1, "staged", runner_up=True)
    assert forecast(20, two, rate=1_000) == (None, 0)


def test_a_few_inputs_are_all_asked() -> None:
    line, samples = forecast(3, SETTINGS, rate=100)
    assert line is not None
    assert "votes on each of 3 inputs" in line
    assert 3 * 200 <= samples < 3 * 200 + 100
