"""What a radius is certified from, checked once for commands, clients and the service: which values go together.

Either a lower bound ``p`` of the top class's probability, perhaps with an upper bound ``p_b`` of every other class's;
or ``count`` of ``n`` votes for the top class at failure probability ``failure``. Single numbers, lists, or arrays.
Whether a number lies in its range is left to `ellzero.core.numbers`, where it is read exactly.
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
    """Use `read_evidence`. Exactly one of ``p`` and ``count`` is given, ``n`` iff ``count`` is, ``p_b`` only with p."""

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
    """The evidence that these values are, None for what is not given; `InvalidInput` if they do not go together.

    A list ``p_b`` must be as long as the list p, and an array of the shape of the array p. Costs a microsecond.
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
    """Refuse fields that do not go together: p, with p_b perhaps; or count and n, with failure perhaps."""
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
    """Whether ``value`` is a numpy array. If numpy has not been imported there is none, and it is not imported here."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def is_several(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether ``value`` holds several numbers: an array, a list or another sequence. Text is one number."""
    return is_array(value) or (isinstance(value, Sequence) and not isinstance(value, str | bytes))
