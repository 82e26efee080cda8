"""Work in threads stops at its deadline; loading goes on."""

import threading

import anyio
import pytest
from serve.voting_models import PATIENCE

from ellzero.serve.platform.middleware import start_deadline
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.platform.thread_pool import ThreadPool


def test_loading_goes_on_after_the_deadline_of_its_request() -> None:
    go_on, loaded = threading.Event(), []

    def load() -> None:
        assert go_on.wait(PATIENCE)
        loaded.append(1)

    async def call() -> None:
        start_deadline(0.05)
        with pytest.raises(HttpProblem) as refused:
            await ThreadPool(1, 0.05).run_aside(load)
        assert (refused.value.status, refused.value.kind) == (503, "timeout")
        go_on.set()

    anyio.run(call)
    assert loaded == [1]  # the loop has waited for its threads at its end
