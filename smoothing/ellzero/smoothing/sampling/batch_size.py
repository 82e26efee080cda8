"""How many samples go through a model at once."""

import torch
from torch import Tensor, nn

# One allocation of more than 32 MB is returned to the system after use and faulted in anew for every batch.
_LARGEST_TENSOR = 24_000_000
_CPU_BUDGET = 512_000_000
_DEVICE_SHARE = 0.4
_MOST = 1_024
_MOST_ON_DEVICE = 8_192


def batch_size(model: nn.Module, example: Tensor) -> int:
    """A power of two for which a forward pass fits memory well, from the sizes of all outputs for one sample.

    Only a first guess: who runs out of memory halves it.
    """
    sizes = output_bytes(model, example)
    everything, largest = sum(sizes) + example.nbytes, max([*sizes, example.nbytes])
    if example.device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(example.device)
        return _power_of_two(min(_MOST_ON_DEVICE, int(free * _DEVICE_SHARE) // everything))
    return _power_of_two(min(_MOST, _CPU_BUDGET // everything, _LARGEST_TENSOR // largest))


def output_bytes(model: nn.Module, example: Tensor) -> list[int]:
    """The bytes of what each module returns for one sample."""
    sizes: list[int] = []

    def note(module: nn.Module, arguments: object, output: object) -> None:
        if isinstance(output, Tensor):
            sizes.append(output.nbytes)

    handles = [module.register_forward_hook(note) for module in model.modules()]
    try:
        model(example)
    finally:
        for handle in handles:
            handle.remove()
    return sizes


def _power_of_two(most: int) -> int:
    return 1 << (max(1, most).bit_length() - 1)
