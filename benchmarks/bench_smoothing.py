"""Smoothed prediction on CPU: speed against the bare model and a plain loop, votes saved by early stops, memory."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import ellzero.smoothing  # noqa: F401  # before torch: it says how threads wait

import torch  # isort: skip
import numpy as np
from measuring import Measurement
from torch import Tensor, nn

from ellzero.smoothing import CertifySettings, DiscreteNoise, SmoothedClassifier, Stopping
from ellzero.smoothing.data.datasets import binarize
from ellzero.smoothing.data.loading import load_data
from ellzero.smoothing.models.architectures import build
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import load_model
from ellzero.smoothing.sampling.stopping_rules import Tally, make_rule
from ellzero.smoothing.training import Recipe, Training

_SELECTING, _BOUNDING, _CERTIFICATIONS = 100, 20_480, 3
_NOISES = (DiscreteNoise(255, "0.2"), DiscreteNoise(1, "0.8"))
_MANY, _INPUTS = 100_000, 64
_DRAWS = 5  # of p for each image whose votes were recorded


def certification() -> Iterator[Measurement]:
    """Images a second through noise, model and count, against the model alone, and against a plain loop."""
    for noise in _NOISES:
        yield from _speed(noise)
    yield from _stops()
    yield from _staged()
    yield from _memory()


def _network() -> nn.Module:
    torch.manual_seed(0)
    return build("paper-cnn", (1, 28, 28), 10, 256, {}).eval()


def _speed(noise: DiscreteNoise) -> Iterator[Measurement]:
    """Batch by batch in turn, so that all three see the same machine: its speed changes by half within seconds."""
    torch.manual_seed(1)
    x = torch.randint(0, noise.levels, (1, 28, 28), dtype=torch.uint8)
    classifier = SmoothedClassifier(_network(), noise, 10, "cpu")
    classifier.certify(x, 100, 1_000, seed=0)
    sampler, plain = classifier.sampler, _network()
    batch = sampler.batch_size or 1
    bare_network = _network().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    samples = torch.rand(batch, 1, 28, 28).contiguous(memory_format=torch.channels_last)
    whole = bare = loop = 0.0
    votes = batches = 0
    for seed in range(_CERTIFICATIONS):
        start = time.perf_counter()
        task = classifier.task(x, CertifySettings.of(_SELECTING, _BOUNDING, "0.001", seed, Stopping.NEVER))
        whole += time.perf_counter() - start
        while task.result() is None:
            size = min(batch, (_SELECTING if task.done < _SELECTING else task.total) - task.done)
            whole += _seconds(lambda task=task: sampler.step([task]))  # type: ignore[misc]
            bare += _seconds(lambda size=size: _bare_batch(bare_network, samples[:size]))  # type: ignore[misc]
            loop += _seconds(lambda size=size: _plain_batch(plain, x, noise, size))  # type: ignore[misc]
            votes += size
            batches += 1
    if votes != _CERTIFICATIONS * (_SELECTING + _BOUNDING):
        raise SystemExit(f"{votes:,} votes are not all of them")
    what = f"the paper's CNN, K={noise.noise.k}, α={noise.noise.alpha}, batches of {batch}"
    yield Measurement(
        f"certify images/s / the bare forward pass, {what}",
        f"{bare / whole:.2f}",
        f"{votes / whole:,.0f} / {votes / bare:,.0f} a second, {batches} batches in turn",
    )
    yield Measurement(
        "certify images/s / a plain loop (repeat, rand < α, randint, forward, count)",
        f"{loop / whole:.2f}",
        f"{votes / whole:,.0f} / {votes / loop:,.0f} a second",
    )


def _bare_batch(network: nn.Module, samples: Tensor) -> Tensor:
    """The model and nothing else: no noise, no scaling, no checks, no counting."""
    with torch.inference_mode():
        scores: Tensor = network(samples)
        return scores


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _plain_batch(model: nn.Module, x: Tensor, noise: DiscreteNoise, size: int) -> None:
    """What people write: as good a certificate it does not give, see docs/smoothing.md."""
    with torch.no_grad():
        copies = x.repeat(size, 1, 1, 1)
        keep = torch.rand(copies.shape) < float(noise.noise.alpha)
        other = torch.randint(0, noise.levels, copies.shape, dtype=torch.uint8)
        noisy = torch.where(keep, copies, other).float() / (noise.levels - 1)
        torch.bincount(model(noisy).argmax(1), minlength=10)


def _stops() -> Iterator[Measurement]:
    """A mixed set: digits under noise, of which some are certain, some doubtful and some wrong."""
    noise = DiscreteNoise(1, "0.9")
    train, test = (binarize(load_data("digits", split), 8) for split in ("train", "test"))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "digits.safetensors"
        card = ModelCard("mlp", train.shape, 10, 2)
        Training(train, noise, card, Recipe(epochs=30), out, torch.device("cpu")).run()
        classifier = SmoothedClassifier(load_model(out).network, noise, 10, "cpu")
    inputs = test.inputs(range(_INPUTS))
    radii: dict[Stopping, float] = {}
    for stopping in (Stopping.NEVER, Stopping.SETTLED, Stopping.STAGED, Stopping.HASTY, Stopping.ANYTIME):
        start = time.perf_counter()
        results = list(classifier.certify_many(inputs, CertifySettings.of(100, _MANY, "0.001", 1, stopping)))
        seconds = time.perf_counter() - start
        radii[stopping] = sum(result.radius or 0 for result in results) / _INPUTS
        if stopping is Stopping.NEVER:
            continue
        used = sum(result.drawn for result in results) / (_INPUTS * _MANY)
        lost = radii[Stopping.NEVER] - radii[stopping]
        abstained = sum(result.radius is None for result in results)
        yield Measurement(
            f"votes used / n = {_MANY:,}, stopping={stopping}, {_INPUTS} digits",
            f"{used:.2f}",
            f"mean radius {radii[stopping]:.3f}, {lost:.3f} lost; {abstained} abstained, {seconds:.0f} s",
        )


def _staged() -> Iterator[Measurement]:
    """The rules with looks, on simulated votes for the p of a CNN on MNIST, against all n votes of the same inputs."""
    recorded = json.loads((Path(__file__).parent / "mnist_votes.json").read_text())
    draw = np.random.default_rng(0)
    counts, n = np.asarray(recorded["counts"]), recorded["n"]
    p = draw.beta(counts + 0.5, n - counts + 0.5, size=(_DRAWS, len(counts))).ravel()
    noise, failure = DiscreteNoise(1, "0.8"), Fraction("0.001")
    fixed = make_rule(noise, 784, _MANY, failure, Stopping.NEVER, False)
    for stopping in (Stopping.STAGED, Stopping.HASTY):
        rule = make_rule(noise, 784, _MANY, failure, stopping, False)
        steps = np.diff([0, *(look.n for look in rule.looks)])
        votes = draw.binomial(steps, p[:, None]).cumsum(1)
        drawn = lost = total = 0
        for row in votes.tolist():
            looks = tuple((look.n - count, count) for look, count in zip(rule.looks, row, strict=True))
            tally = next(
                tally
                for tally in (Tally(looks[at], 1, _MANY, looks[: at + 1]) for at in range(len(looks)))
                if rule.is_finished(tally)
            )
            all_votes = fixed.certify(Tally(looks[-1], 1, _MANY)).radius or 0
            drawn += tally.drawn
            total += all_votes
            lost += all_votes - (rule.certify(tally).radius or 0)
        yield Measurement(
            f"votes used / n = {_MANY:,}, stopping={stopping}, {len(p):,} inputs with the p of a CNN on MNIST",
            f"{drawn / (len(p) * _MANY):.3f}",
            f"mean radius {total / len(p):.3f}, {lost / total:.2%} of it lost",
        )


def _memory() -> Iterator[Measurement]:
    """The largest memory of a process of its own, after 1,000 votes and after 100,000."""
    output = subprocess.run([sys.executable, __file__, "memory"], check=True, capture_output=True, text=True).stdout
    few, many = (int(number) * 1024 for number in output.split())
    yield Measurement(
        f"largest memory with n = {_MANY:,} / with n = 1,000, the paper's CNN",
        f"{many / few:.2f}",
        f"{many / 1e6:.0f} MB / {few / 1e6:.0f} MB, torch included; {_MANY:,} copies would be 314 MB",
    )


def _print_memory() -> None:
    x = torch.randint(0, 256, (1, 28, 28), dtype=torch.uint8)
    classifier = SmoothedClassifier(_network(), _NOISES[0], 10, "cpu")
    for n in (1_000, _MANY):
        classifier.certify(x, 100, n, seed=1, stopping=Stopping.NEVER)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


if __name__ == "__main__":
    if sys.argv[1:] == ["memory"]:
        _print_memory()
    else:
        for line in certification():
            print(f"{line.ratio:>9}  {line.what}  ({line.times})", flush=True)
