"""Computing in one thread a process, so that results do not depend on how many there are."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def use_one_thread() -> Iterator[None]:
    """Let torch compute in this thread alone.

    Several threads add in another order, and round differently: a training that resumes with another number of them
    ends with other weights. Where there are several cores, experiments work in as many processes.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
