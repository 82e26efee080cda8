"""Noise drawn on a GPU, by torch."""

import torch
from torch import Tensor

from ellzero.smoothing.noise.random_streams import WORD_BYTES, Array, Kind, Shape, Stage

_STAGE_SHIFT = 40


class DeviceRandomSource:
    """The stream of a block, drawn on the device itself: a `RandomSource` whose arrays are tensors."""

    def __init__(self, key: bytes, stage: Stage, block: int, device: torch.device) -> None:
        start = int.from_bytes(key[:8], "little") + (int(stage) << _STAGE_SHIFT) + block
        self._generator = torch.Generator(device).manual_seed(start % (1 << 64) - (1 << 63))
        self._device = device

    def words(self, count: int, kind: Kind) -> Array:
        dtype: torch.dtype = getattr(torch, kind)
        whole = -(-count * dtype.itemsize // WORD_BYTES)
        raw = torch.empty(whole, dtype=torch.int64, device=self._device)
        return raw.random_(-(1 << 63), None, generator=self._generator).view(dtype)[:count]

    def array(self, levels: Array) -> Array:
        return torch.as_tensor(levels, device=self._device)

    def expand(self, levels: Array, shape: Shape) -> Array:
        return self.array(levels).expand(shape)

    def join(self, parts: list[Array]) -> Array:
        return torch.cat(parts, dim=1)

    def cast(self, array: Array, kind: Kind) -> Array:
        return array.to(getattr(torch, kind), copy=True)

    def places(self, mask: Array) -> Array:
        return mask.nonzero().squeeze(1)

    def smallest(self, rows: Array, rank: int) -> Array:
        return rows.kthvalue(rank, dim=1, keepdim=True).values

    def normals(self, count: int) -> Tensor:
        return torch.randn(count, dtype=torch.float64, device=self._device, generator=self._generator).float()

    def uniforms(self, count: int) -> Tensor:
        uniform = torch.rand(count, dtype=torch.float64, device=self._device, generator=self._generator)
        return (uniform * 2 - 1).float()
