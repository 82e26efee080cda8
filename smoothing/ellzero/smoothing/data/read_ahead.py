"""Reading the next batch of inputs while the one before it is in use."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Batch = TypeVar("Batch")
Content = TypeVar("Content")

THREAD_NAME = "ellzero-read-ahead"


def read_ahead(read: Callable[[Batch], Content], batches: Sequence[Batch]) -> Iterator[tuple[Batch, Content]]:
    """Each batch with its content, in order. One thread reads, and at most one batch is held beside that in use."""
    with ThreadPoolExecutor(1, THREAD_NAME) as reader:
        following = [reader.submit(read, batch) for batch in batches[:1]]
        for number, batch in enumerate(batches):
            content = following.pop().result()
            following += [reader.submit(read, later) for later in batches[number + 1 : number + 2]]
            yield batch, content
