"""What a noise does to changed coordinates, read from its description: stated here a second time, on purpose.

`ellzero.certificates.families` says the same in its own words. A certificate is checked with these, so that a mistake
in one of them shows.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any, TypeAlias

Outcomes: TypeAlias = tuple[tuple[Fraction, Fraction], ...]
"""What one changed coordinate shows: probabilities under x and under x̄."""
Way: TypeAlias = tuple[tuple[Outcomes, int], ...]
"""One way to spend a budget: outcomes, and how many coordinates show them."""

MOST_WAYS = 100_000
_MOST_KINDS = 100  # of change, that share one budget
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)  # of a part: it stands in the claim, which it must not change
_FRACTION = re.compile(r"[0-9]+(/[0-9]+)?", re.ASCII)  # no exponents, which could exhaust memory
_MOST_LEVELS = 2**31 - 1
_MOST_K = 10**8
_MOST_D = 2**31 - 1
_DEEPEST = 16
_LARGEST_PART = 2**63 - 1


class UnknownLaw(ValueError):
    """A description that is none of a noise; the message continues "the noise …"."""


@dataclass(frozen=True)
class Law:
    """A noise: the kinds of change that its budgets count, how many changes of each there can be, and what they show.

    ``by_edits`` if a change may be an insertion or a deletion.
    """

    axes: tuple[str, ...]
    most: tuple[int | None, ...]
    ways: Callable[[tuple[int, ...]], Iterator[Way]]
    by_edits: bool = False

    def total(self) -> "Law":
        """Changes of any kind, counted together: an adversary may divide them among the kinds."""
        if len(self.axes) == 1:
            return self

        def ways(counts: tuple[int, ...]) -> Iterator[Way]:
            (r,) = counts
            for split in _divide(r, [r if most is None else most for most in self.most]):
                yield from self.ways(split)

        most = None if None in self.most else sum(each for each in self.most if each is not None)
        return Law(("change",), (most,), ways, self.by_edits)


def read_law(description: object, depth: int = 0) -> Law:
    """The noise of a description, whose parameters must be exact and fit together. Raises `UnknownLaw`."""
    if not isinstance(description, dict) or depth > _DEEPEST:
        raise UnknownLaw("is not described by its family and parameters")
    reader = _READERS.get(description.get("family")) if isinstance(description.get("family"), str) else None
    if reader is None:
        raise UnknownLaw("is of no family that certificates are verified for")
    needed, optional, read = reader
    fields = description.keys() - {"family"}
    if fields - optional != set(needed):
        raise UnknownLaw(f"of the family {description['family']} has exactly the parameters {', '.join(needed)}")
    if "levels" in description and not _is_integer(description["levels"], 2, _MOST_LEVELS):
        raise UnknownLaw("has no such number of levels")
    return read(description, depth)


def read_fraction(text: object) -> Fraction:
    """A rational as Python writes it, in lowest terms; ValueError for other text of the same value."""
    if not isinstance(text, str) or len(text) > 4_000 or not _FRACTION.fullmatch(text):
        raise ValueError(text)
    value = Fraction(text)
    if str(value) != text:
        raise ValueError(text)
    return value


def _discrete(description: Mapping[str, Any], depth: int) -> Law:
    """K other values, each with probability (1 − α)/K. Pixels of C channels are single values, levels^C of them."""
    k, alpha = _read_k(description), _read_probability(description, "alpha")
    unit, channels = description.get("unit", "coordinate"), description.get("channels", 1)
    if unit not in ("coordinate", "pixel") or not _is_integer(channels, 1, 64) or (unit != "pixel" and channels != 1):
        raise UnknownLaw("has no such unit")
    if depth and unit == "pixel":
        raise UnknownLaw("has a part whose unit is not a coordinate")
    if "levels" in description and description["levels"] ** channels != k + 1:
        raise UnknownLaw("has a K that is not the number of its values minus one")
    if unit == "pixel" and "levels" not in description:
        raise UnknownLaw("is on pixels, and does not say how many levels they have")
    beta = (1 - alpha) / k
    rest = 1 - alpha - beta
    return _one_kind(((alpha, beta), (beta, alpha), (rest, rest)))


def _sparse(description: Mapping[str, Any], depth: int) -> Law:
    if description.get("levels", 2) != 2:
        raise UnknownLaw("is for bits, which have two levels")
    up, down = _read_probability(description, "p_add"), _read_probability(description, "p_del")
    added = ((up, 1 - down), (1 - up, down))
    return _several_kinds({"add": added, "delete": _exchange(added)}, (None, None))


def _sparse_levels(description: Mapping[str, Any], depth: int) -> Law:
    k = _read_k(description)
    if description.get("levels", k + 1) != k + 1:
        raise UnknownLaw("has a K that is not the number of its levels minus one")
    p_add, p_del = _read_probability(description, "p_add"), _read_probability(description, "p_del")
    up, down = p_add / k, p_del / k
    added = ((1 - p_add, down), (up, 1 - p_del), ((k - 1) * up, (k - 1) * down))
    changed = ((1 - p_del, down), (down, 1 - p_del), ((k - 1) * down, (k - 1) * down))
    kinds = {"add": added, "delete": _exchange(added), "change": changed}
    return _several_kinds(kinds, (None, None, 0 if k == 1 else None))


def _mask(description: Mapping[str, Any], depth: int) -> Law:
    _check_token(description)
    return _one_kind(_hide(_read_probability(description, "m")))


def _check_token(description: Mapping[str, Any]) -> None:
    """What hidden coordinates show does not matter: it is a function of the sample with a symbol of its own."""
    if "mask_token" in description and not _is_integer(
        description["mask_token"], 0, description.get("levels", _MOST_LEVELS) - 1
    ):
        raise UnknownLaw("has a mask token that is not one of its levels")


def _deletion(description: Mapping[str, Any], depth: int) -> Law:
    if "length" in description and not _is_integer(description["length"], 1, _MOST_D):
        raise UnknownLaw("has no such length")
    hidden = _hide(_read_probability(description, "m"))
    return Law(("edit",), (None,), lambda counts: iter((((hidden, counts[0]),),)), by_edits=True)


def _ablation(description: Mapping[str, Any], depth: int) -> Law:
    """All changed coordinates are hidden together with probability C(d−r, keep)/C(d, keep)."""
    _check_token(description)
    d, keep = description["d"], description["keep"]
    if not _is_integer(d, 1, _MOST_D) or not _is_integer(keep, 1, d):
        raise UnknownLaw("has no such d and keep")

    def ways(counts: tuple[int, ...]) -> Iterator[Way]:
        (r,) = counts
        if r == 0:
            yield ()
        elif r > d - keep:
            yield ((_hide(Fraction(0)), 1),)
        elif min(r, keep) > 10_000:
            raise UnknownLaw("has so many changes that certificates are not verified for them")
        elif r <= keep:
            yield ((_hide(Fraction(comb(d - keep, r), comb(d, r))), 1),)
        else:
            yield ((_hide(Fraction(comb(d - r, keep), comb(d, keep))), 1),)

    return Law(("change",), (d,), ways)


def _hierarchical(description: Mapping[str, Any], depth: int) -> Law:
    base, s = read_law(description["base"], depth + 1), _read_probability(description, "s")
    if not strikes_coordinates(description["base"]):
        raise UnknownLaw("has a base that does not strike each coordinate by itself")
    _check_same_levels(description, [description["base"]])

    def strike(outcomes: Outcomes) -> Outcomes:
        zero = Fraction(0)
        return ((1 - s, zero), (zero, 1 - s), *((s * x, s * xbar) for x, xbar in outcomes))

    def ways(counts: tuple[int, ...]) -> Iterator[Way]:
        for way in base.ways(counts):
            yield tuple((strike(outcomes), count) for outcomes, count in way)

    return Law(base.axes, base.most, ways, base.by_edits)


def _total(description: Mapping[str, Any], depth: int) -> Law:
    base = read_law(description["base"], depth + 1)
    _check_same_levels(description, [description["base"]])
    return base.total()


def _joint(description: Mapping[str, Any], depth: int) -> Law:
    """Parts with names and budgets of their own; what they show is shown together."""
    members = description["members"]
    if not isinstance(members, dict) or not members or not all(map(_is_name, members)):
        raise UnknownLaw("has parts without proper names")
    parts = {name: read_law(_without_columns(each), depth + 1) for name, each in members.items()}
    _check_same_levels(description, list(members.values()))
    _check_columns(list(members.values()))
    axes = [name if len(part.axes) == 1 else f"{name}.{axis}" for name, part in parts.items() for axis in part.axes]

    def ways(counts: tuple[int, ...]) -> Iterator[Way]:
        own, start = [], 0
        for part in parts.values():
            own.append(list(part.ways(counts[start : start + len(part.axes)])))
            start += len(part.axes)
        for choice in product(*own):
            yield tuple(entry for way in choice for entry in way)

    most = tuple(limit for part in parts.values() for limit in part.most)
    return Law(tuple(axes), most, ways, any(part.by_edits for part in parts.values()))


def _grouped(description: Mapping[str, Any], depth: int) -> Law:
    """Columns of several kinds under one budget: each column can change once."""
    members = description["members"]
    if not isinstance(members, list) or not members:
        raise UnknownLaw("has no members")
    parts = []
    for each in members:
        part = read_law(_without_columns(each), depth + 1)
        if len(part.axes) != 1 or part.by_edits or not _is_integer(each.get("columns"), 1, _MOST_D):
            raise UnknownLaw("has members of several kinds of change, or without columns")
        if part.most[0] is not None and part.most[0] != each["columns"]:
            raise UnknownLaw("has members whose columns are not all of theirs")
        parts.append((part, each["columns"]))
    _check_same_levels(description, members)
    _check_columns(members)
    # Columns of equal kinds are one member: how many of each change is all that counts.
    together: dict[str, tuple[Law, int]] = {}
    for each, (part, columns) in zip(members, parts, strict=True):
        key = repr(sorted((name, str(value)) for name, value in _without_columns(each).items()))
        if key in together and part.most[0] is not None:
            raise UnknownLaw("has two members that have all of their columns each")
        together[key] = part, columns + (together[key][1] if key in together else 0)
    kinds = list(together.values())

    def ways(counts: tuple[int, ...]) -> Iterator[Way]:
        for split in _divide(counts[0], [columns for _, columns in kinds]):
            own = (list(part.ways((count,))) for (part, _), count in zip(kinds, split, strict=True) if count)
            for choice in product(*own):
                yield tuple(entry for way in choice for entry in way)

    return Law(("change",), (sum(columns for _, columns in kinds),), ways)


_READERS: dict[Any, tuple[tuple[str, ...], set[str], Callable[[Mapping[str, Any], int], Law]]] = {
    "discrete": (("k", "alpha"), {"levels", "unit", "channels"}, _discrete),
    "sparse": (("p_add", "p_del"), {"levels"}, _sparse),
    "sparse-levels": (("k", "p_add", "p_del"), {"levels"}, _sparse_levels),
    "mask": (("m",), {"levels", "mask_token"}, _mask),
    "ablation": (("d", "keep"), {"levels", "mask_token"}, _ablation),
    "deletion": (("m",), {"levels", "length"}, _deletion),
    "hierarchical": (("base", "s"), {"levels"}, _hierarchical),
    "total": (("base",), {"levels"}, _total),
    "joint": (("members",), {"levels"}, _joint),
    "grouped": (("members",), {"levels"}, _grouped),
}


def count_columns(description: Mapping[str, Any]) -> int | None:
    """How many coordinates inputs have, where the noise says so."""
    match description["family"]:
        case "ablation":
            return int(description["d"])
        case "deletion":
            return description.get("length")
        case "hierarchical" | "total":
            return count_columns(description["base"])
        case "joint" | "grouped":
            members = description["members"]
            listed = list(members.values()) if isinstance(members, dict) else members
            columns = list(map(_count_own_columns, listed))
            known = [each for each in columns if each is not None]
            return sum(known) if len(known) == len(columns) else None
    return None


def _count_own_columns(member: Mapping[str, Any]) -> int | None:
    """Those that a member is given, or else those that it has by itself."""
    return member["columns"] if "columns" in member else count_columns(member)


def _one_kind(outcomes: Outcomes) -> Law:
    return _several_kinds({"change": outcomes}, (None,))


def _several_kinds(kinds: Mapping[str, Outcomes], most: tuple[int | None, ...]) -> Law:
    def ways(counts: tuple[int, ...]) -> Iterator[Way]:
        yield tuple(zip(kinds.values(), counts, strict=True))

    return Law(tuple(kinds), most, ways)


def _hide(probability: Fraction) -> Outcomes:
    """Visible, which tells x from x̄ for certain, or hidden with this probability."""
    zero = Fraction(0)
    return ((1 - probability, zero), (zero, 1 - probability), (probability, probability))


def _exchange(outcomes: Outcomes) -> Outcomes:
    return tuple((xbar, x) for x, xbar in outcomes)


def _divide(total: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All ways to write the total as a sum of so many numbers with these limits."""
    if len(most) > _MOST_KINDS:
        raise UnknownLaw("has so many kinds of change that certificates are not verified for them")
    first, *rest = most
    if not rest:
        if total <= first:
            yield (total,)
        return
    if total == 0:
        yield (0,) * len(most)
        return
    room = sum(rest)
    for count in range(max(0, total - room), min(first, total) + 1):
        for others in _divide(total - count, rest):
            yield (count, *others)


def _read_probability(description: Mapping[str, Any], name: str) -> Fraction:
    try:
        value = read_fraction(description[name])
    except (ValueError, ZeroDivisionError):
        raise UnknownLaw(f"has a parameter {name} that is no fraction in lowest terms") from None
    if not 0 < value < 1 or value.denominator > _LARGEST_PART:
        raise UnknownLaw(f"has a parameter {name} that is no probability between 0 and 1")
    return value


def _read_k(description: Mapping[str, Any]) -> int:
    k = description["k"]
    if not _is_integer(k, 1, _MOST_K):
        raise UnknownLaw("has no such K")
    return int(k)


def _is_integer(value: object, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def _is_name(name: object) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _without_columns(member: object) -> dict[str, Any]:
    if not isinstance(member, dict):
        raise UnknownLaw("has a member that is not described by its family and parameters")
    columns = member.get("columns", 1)
    if not _is_integer(columns, 1, _MOST_D):
        raise UnknownLaw("has a member with no such number of columns")
    return {name: value for name, value in member.items() if name != "columns"}


def strikes_coordinates(description: Mapping[str, Any]) -> bool:
    """Whether each coordinate is struck by itself, and stays in its place."""
    match description["family"]:
        case "ablation" | "deletion":
            return False
        case "hierarchical" | "total":
            return strikes_coordinates(description["base"])
        case "joint" | "grouped":
            members = description["members"]
            return all(map(strikes_coordinates, members.values() if isinstance(members, dict) else members))
    return True


def _check_columns(members: Sequence[Mapping[str, Any]]) -> None:
    """Members have the columns that they are for, and all of them say how many, or none does."""
    for each in members:
        own = count_columns(each)
        if own is not None and each.get("columns", own) != own:
            raise UnknownLaw("has a part for other numbers of columns than it is given")
    if len({_count_own_columns(each) is None for each in members}) > 1:
        raise UnknownLaw("has parts with and without a number of columns")


def _check_same_levels(description: Mapping[str, Any], members: Sequence[Mapping[str, Any]]) -> None:
    """Inputs have as many levels as the part that has most."""
    levels = [each["levels"] for each in members if "levels" in each]
    if "levels" in description and levels and description["levels"] != max(levels):
        raise UnknownLaw("has other levels than its parts")
