"""The device that a model runs on, and the precisions that it supports."""

import subprocess
import sys
from functools import cache

import torch

from ellzero.core.errors import InvalidInput
from ellzero.smoothing.errors import NoSuchDevice

_AUTOCAST = {"bfloat16": torch.bfloat16, "float16": torch.float16}
_PROBE_SECONDS = 60


def find_device(name: str | torch.device = "auto") -> torch.device:
    """The device of this name; ``auto`` is the first GPU, or the CPU of a machine without one."""
    if isinstance(name, str) and name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        raise InvalidInput("device", "auto, cpu, cuda or cuda:0", name) from None
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise NoSuchDevice(str(name), "torch finds no CUDA GPU on this machine")
        if device.index is not None and device.index >= torch.cuda.device_count():
            raise NoSuchDevice(str(name), f"there are {torch.cuda.device_count()} GPUs")
    elif device.type != "cpu":
        raise NoSuchDevice(str(name), "only cpu and cuda are supported")
    return device


def autocast_type(name: str | None, device: torch.device) -> torch.dtype | None:
    """The type of a reduced precision; raises if this device does not support it."""
    if name is None:
        return None
    if name not in _AUTOCAST:
        raise InvalidInput("autocast", " or ".join(_AUTOCAST), name)
    if device.type == "cpu" and not _cpu_survives(name):
        raise NoSuchDevice(str(device), f"it cannot multiply {name} matrices")
    return _AUTOCAST[name]


@cache
def _cpu_survives(name: str) -> bool:
    """Whether the CPU can use this type. Tried in another process, since missing instructions kill a whole process."""
    code = (
        f"import torch; from torch.nn.functional import conv2d, linear; x = torch.ones(64, 64, dtype=torch.{name});"
        "linear(x, x); conv2d(x.view(1, 1, 64, 64), x[:3, :3].reshape(1, 1, 3, 3))"
    )
    try:
        process = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=_PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return process.returncode == 0
