"""Executors: every item once, errors as they were raised, and lost workers replaced."""

import os
import signal
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial as bind
from pathlib import Path

import pytest

from ellzero.certificates import Discrete, InvalidInput
from ellzero.core.errors import ClusterUnreachable, WorkersLost
from ellzero.core.execution.executors import LocalExecutor, WorkerResources, available_cores
from ellzero.core.execution.ray_executor import RayExecutor, check_reachable
from ellzero.tables import StorageFailed


def square(number: int) -> int:
    return number * number


def refuse_alpha(number: int) -> Discrete:
    return Discrete(number, Fraction(3, 2))


def fail_to_store(number: int) -> None:
    raise StorageFailed("somewhere", f"no space for {number}")


def need_missing_module(number: int) -> None:
    raise ModuleNotFoundError(f"No module named 'nowhere{number}'", name="nowhere")


def die_once(number: int, marks: str) -> tuple[int, int]:
    """The first attempt at each number is killed by SIGKILL, as an operator or the kernel would do it."""
    try:
        Path(marks, str(number)).touch(exist_ok=False)
    except FileExistsError:
        return number, os.getpid()
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def test_in_process_results_come_in_order() -> None:
    with LocalExecutor() as executor:
        assert list(executor.run(square, range(20))) == [number * number for number in range(20)]
        assert executor.workers == 1


def test_on_ray_every_item_is_done_once(ray_executor: RayExecutor) -> None:
    assert sorted(ray_executor.run(square, range(200))) == [number * number for number in range(200)]
    assert ray_executor.workers == 2


def test_only_few_items_are_in_flight(ray_executor: RayExecutor) -> None:
    submitted = 0

    def items() -> Iterator[int]:
        nonlocal submitted
        for number in range(10_000):
            submitted += 1
            yield number

    results = ray_executor.run(square, items())
    for _ in range(5):
        next(results)
    assert submitted <= 20


def test_a_domain_error_of_a_worker_arrives_as_it_was_raised(ray_executor: RayExecutor) -> None:
    with pytest.raises(InvalidInput, match="alpha must be a rational number strictly between 0 and 1") as invalid:
        list(ray_executor.run(refuse_alpha, [1]))
    assert type(invalid.value) is InvalidInput
    with pytest.raises(StorageFailed, match="^somewhere: no space for 7$"):
        list(ray_executor.run(fail_to_store, [7]))


def test_an_error_for_workers_without_the_code_says_how_to_get_it(ray_executor: RayExecutor) -> None:
    with pytest.raises(WorkersLost, match="they lack the module nowhere; `ellzero submit` brings it along"):
        list(ray_executor.run(need_missing_module, [1]))


def test_the_task_of_a_killed_worker_is_repeated(ray_executor: RayExecutor, tmp_path: Path) -> None:
    results = sorted(ray_executor.run(bind(die_once, marks=str(tmp_path)), range(3)))
    assert [number for number, _ in results] == [0, 1, 2]


def test_an_executor_inside_a_session_uses_it_and_leaves_it_running(ray_executor: RayExecutor) -> None:
    with RayExecutor() as executor:
        assert list(executor.run(square, [3])) == [9]
    assert list(ray_executor.run(square, [4])) == [16]


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1"])
def test_an_unreachable_cluster_is_reported_at_once(address: str) -> None:
    with pytest.raises(ClusterUnreachable, match=f"no Ray cluster answers at {address}"):
        check_reachable(address)


@pytest.mark.parametrize("address", ["", "head", "head:many", ":6379"])
def test_an_address_without_host_or_port_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="address must be host:port"):
        check_reachable(address)


def test_available_cores() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)


class MakeCounter:
    """Makes work that counts what it has done, and says who does it."""

    def __call__(self) -> Callable[[int], tuple[int, int, int]]:
        count = 0

        def work(number: int) -> tuple[int, int, int]:
            nonlocal count
            count += 1
            return number, count, os.getpid()

        return work


class MakeMortal:
    """Makes work that is killed by SIGKILL at the first attempt at each third number."""

    def __init__(self, marks: Path) -> None:
        self._marks = str(marks)

    def __call__(self) -> Callable[[int], int]:
        return lambda number: die_once(number, self._marks)[0] if number % 3 == 0 else number


def make_nothing() -> Callable[[int], int]:
    raise InvalidInput("model", "there", "nowhere")


def test_in_process_work_is_made_once() -> None:
    with LocalExecutor() as executor:
        assert [count for _, count, _ in executor.run_stateful(MakeCounter(), range(5), WorkerResources())] == [
            1,
            2,
            3,
            4,
            5,
        ]


def test_each_actor_makes_its_work_once_and_every_item_is_done_once(ray_executor: RayExecutor) -> None:
    results = list(ray_executor.run_stateful(MakeCounter(), range(30), WorkerResources()))
    assert sorted(number for number, _, _ in results) == list(range(30))
    by_worker = {pid: [count for _, count, worker in results if worker == pid] for _, _, pid in results}
    assert len(by_worker) == 2
    for count in by_worker.values():
        assert sorted(count) == list(range(1, len(count) + 1))
    assert ray_executor.count_workers(WorkerResources(cores=2)) == 1
    assert ray_executor.gpus == 0


def test_an_actor_that_is_killed_is_replaced_and_its_items_are_done(ray_executor: RayExecutor, tmp_path: Path) -> None:
    assert sorted(ray_executor.run_stateful(MakeMortal(tmp_path), range(8), WorkerResources())) == list(range(8))


def test_an_error_while_making_the_function_is_raised_unchanged(ray_executor: RayExecutor) -> None:
    with pytest.raises(InvalidInput, match="model must be there"):
        list(ray_executor.run_stateful(make_nothing, range(3), WorkerResources()))
