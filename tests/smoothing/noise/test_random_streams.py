"""Streams and what noises draw from them: samples and votes are those of earlier releases, to the bit."""

import hashlib

import numpy as np
import pytest
from smoothing.every_noise import EVERY_NOISE, count_by_sum, make_input

from ellzero.smoothing import SmoothedClassifier, add_noise
from ellzero.smoothing.noise.random_streams import Stage, open_source, stream_key

RECORDED: dict[str, tuple[str, str, str, tuple[int, ...]]] = {
    "discrete": ("a59f6585459a9e92", "8c680ba70eff85c3", "cea1cea29d7abc35", (191, 207, 202)),
    "bytes": ("62df95ce7f9ee7c0", "6cd22e24d3a3791d", "bd17cdbea9c054c5", (195, 194, 211)),
    "others only": ("db88af5136081605", "b468a2aba8c477b8", "ca90ead50c7adf05", (214, 195, 191)),
    "many levels": ("7f3dae770a314268", "0750f81a0f45c560", "af9ab6bfb53ab2c6", (193, 192, 215)),
    "pixels": ("b6487232e18bfe99", "68ceab01a3156cd2", "10c1f6d405cde784", (203, 180, 217)),
    "pixels, others only": ("b71946d2e9c86e0a", "109840d11d736b4f", "43b70ea62ff05889", (202, 214, 184)),
    "rounded gaussian": ("9012b61509668c37", "103747b467089f49", "1711d82f525c9dd9", (181, 267, 152)),
    "gaussian": ("3d2f27df2d9dab79", "4d3ed8ed02fc1817", "11d85ce0a633ec16", (214, 183, 203)),
    "gaussian of bits": ("db0c432472b4188d", "d59505585c60129c", "c8db967be42fd7ba", (188, 205, 207)),
    "uniform": ("acd84bbae049cb29", "798fb9e0a9f18a4f", "6742bf95a920c171", (208, 196, 196)),
    "sparse": ("698ab57caf4b60e9", "5307ba1a771893ad", "781b46c645121651", (226, 182, 192)),
    "sparse levels": ("d9cb26dcbac00cda", "8b441a569e4b325d", "ada4f4468a92a875", (197, 200, 203)),
    "sparse, many levels": ("510f49f2d587d864", "0798b2993f579ce4", "3c3d936e58c6185a", (206, 179, 215)),
    "mask": ("346ffc21915541a1", "9f371d8006867e62", "c00b203e2969f2a4", (246, 280, 74)),
    "mask of many": ("e8c726c21f041d05", "7239becbb19e1d8c", "9603dc0380982b00", (191, 192, 217)),
    "mask of all bytes": ("1b3029f5eaef75af", "1799ed1a045ce39b", "d08ad4cdb3e1509e", (176, 234, 190)),
    "ablation": ("eeeefeb84fd83a15", "40128292ef391e99", "09fd133f19eb6b15", (197, 188, 215)),
    "deletion": ("bf607107437b59ee", "b5b0cea03200234a", "446c3d83f39c9ed7", (199, 195, 206)),
    "deletion of many": ("a7650fc9d284d98b", "45180fda72f6aef6", "1c938330fffd669d", (342, 91, 167)),
    "hierarchical": ("f34c57bec2266202", "b263d3ed80a1a8a4", "b004f3783350d870", (156, 306, 138)),
    "hierarchical mask": ("be085c6246350579", "f51aa3adfde1c040", "dba09ceb60ea5866", (193, 271, 136)),
    "total": ("c9e905177b80b1ae", "1b35ad7966f97487", "9c97ab265faa5a74", (186, 228, 186)),
    "grouped": ("50909f77de268215", "9ad4e23ac41d7120", "7e03652bd8b51846", (214, 207, 179)),
    "joint": ("79a699eac851a1c3", "99a0cd82d061ca68", "3c77b676dee805b8", (198, 195, 207)),
}
"""What was drawn of each noise when inputs and samples were torch tensors: digests of the key of the stream, of samples
of two blocks, and of a batch for training; and votes."""


@pytest.mark.filterwarnings("ignore::ellzero.smoothing.UnreachableRadiusWarning")
@pytest.mark.parametrize("name", EVERY_NOISE)
def test_samples_and_votes_are_those_of_earlier_releases(name: str) -> None:
    noise, shape = EVERY_NOISE[name]
    key, samples, batch, counts = RECORDED[name]
    x = make_input(noise, shape)
    classifier = SmoothedClassifier(count_by_sum, noise, 3, feed="levels")
    levels = classifier.levels(x)
    stream = stream_key(7, noise.tag, levels)
    assert stream.hex()[:16] == key
    digest = hashlib.blake2b(digest_size=8)
    for stage, block in ((Stage.BOUND, 0), (Stage.SHOW, 3)):
        drawn = noise.sample(levels, open_source(stream, stage, block), 70)
        digest.update(f"{drawn.dtype} {drawn.shape}".encode())
        digest.update(drawn.tobytes())
    assert digest.hexdigest() == samples
    noisy = add_noise(np.stack([x, x]), noise, seed=3, step=2, feed="levels")
    assert hashlib.blake2b(noisy.tobytes(), digest_size=8).hexdigest() == batch
    assert classifier.certify(x, 20, 600, "0.01", seed=7, stopping="never").counts == counts
