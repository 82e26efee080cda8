"""What a radius is certified from. Which values go together is checked here, for commands, clients and the service.

Either a lower bound ``p`` on the probability of the top class, optionally with an upper bound ``p_b`` on that of every
other class; or ``count`` of ``n`` votes for the top class at failure probability ``failure``. Values may be single
numbers, lists or arrays. Whether a number is in its range is checked by `ellzero.core.numbers`, which reads it exactly.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from ellzero.core.conventions import DEFAULT_FAILURE
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Evidence:
    """Made by `read_evidence`. Has exactly one of ``p`` and ``count``, ``n`` iff ``count``, and ``p_b`` only with p."""

    p: Any = None
    p_b: Any = None
    count: Any = None
    n: int | None = None
    failure: RationalLike = DEFAULT_FAILURE

    @property
    def name(self) -> Literal["p", "count"]:
        """The field that holds `values`."""
        return "p" if self.count is None else "count"

    @property
    def values(self) -> Any:
        """The probabilities, or the counts: one number, a list, or an array."""
        return self.p if self.count is None else self.count


def read_evidence(
    p: Any = None, p_b: Any = None, count: Any = None, n: Any = None, failure: RationalLike | None = None
) -> Evidence:
    """These values as evidence, None for those left out; raises `InvalidInput` if they do not go together.

    A list ``p_b`` must be as long as the list p, and an array must have the shape of the array p. Takes a microsecond.
    """
    check_fields(p is not None, p_b, count is not None, n, failure)
    name, values = ("p", p) if count is None else ("count", count)
    if is_several(values):
        size = values.size if is_array(values) else len(values)
        if not size:
            shown = f"an array of shape {values.shape}" if is_array(values) else values
            raise InvalidInput(name, "at least one value", shown)
        if is_array(values) and is_array(p_b) and p_b.shape != values.shape:
            raise InvalidInput("p_b", f"one number, or an array of p's shape {values.shape}", p_b.shape)
        bounds = (p_b.size if is_array(p_b) else len(p_b)) if is_several(p_b) else size
        if bounds != size:
            raise InvalidInput("p_b", f"one number, or as many as p has ({size:,})", f"{bounds:,} numbers")
    elif is_several(p_b):
        raise InvalidInput("p_b", "one number, because p is one number", p_b)
    return Evidence(p, p_b, count, n, DEFAULT_FAILURE if failure is None else failure)


def check_fields(has_p: bool, p_b: object, has_count: bool, n: object, failure: object) -> None:
    """Raise `InvalidInput` unless the fields are p, optionally with p_b; or count and n, optionally with failure."""
    if not has_p and not has_count and n is None:
        raise InvalidInput("p", "given, or count and n instead", None)
    if has_p and (has_count or n is not None):
        raise InvalidInput("p", "given without count and n, or left out", "all of them" if has_count else "p and n")
    if has_count != (n is not None):
        raise InvalidInput("n" if has_count else "count", f"given with {'count' if has_count else 'n'}", None)
    if p_b is not None and not has_p:
        raise InvalidInput("p_b", "given with p only", p_b)
    if failure is not None and has_p:
        raise InvalidInput("failure", "given with count and n only", failure)


def is_array(value: object) -> "TypeGuard[NDArray[Any]]":
    """Whether ``value`` is a numpy array. Does not import numpy: if nobody has, ``value`` is not an array."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def is_several(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether ``value`` holds several numbers: an array, a list or another sequence. Text is one number."""
    return is_array(value) or (isinstance(value, Sequence) and not isinstance(value, str | bytes))
