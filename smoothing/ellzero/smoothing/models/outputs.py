"""What a model raised or returned, checked: errors in one line, and a score for each class and sample."""

import torch
from torch import Tensor

from ellzero.core.text import first_line
from ellzero.smoothing.errors import ModelFailed


def make_model_error(error: BaseException) -> ModelFailed:
    """What a model raised, in one line."""
    reason = first_line(error) if str(error).strip() else "no reason given"
    return ModelFailed(f"raised {type(error).__name__}: {reason}")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out; the CPU's allocator says so in a plain RuntimeError."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


def check_scores(scores: object, samples: int, classes: int) -> Tensor:
    """The scores, if they are a tensor of shape (samples, classes)."""
    if not isinstance(scores, Tensor):
        raise ModelFailed(f"returned {type(scores).__name__} instead of a tensor")
    if scores.shape != (samples, classes):
        raise ModelFailed(
            f"returned a tensor of shape {tuple(scores.shape)} for {samples} samples; "
            f"({samples}, {classes}) is what num_classes = {classes} needs"
        )
    return scores
