"""Every family of noises as the service and the clients describe it: what it models, its parameters, what it counts."""

from dataclasses import replace

from ellzero.certificates.families.discrete import MAX_K
from ellzero.core.numbers import MAX_DIMENSION
from ellzero.core.schemas import ChangeKind, FamiliesAnswer, FamilyInfo, FamilyParameter

_WORDS = {"family": "sparse", "p_add": "0.01", "p_del": "0.6"}
_K = FamilyParameter(
    name="k",
    type="integer",
    low=1,
    high=MAX_K,
    example=255,
    meaning="number of categories minus one: 255 for bytes, 1 for bits",
)
_P_ADD = FamilyParameter(
    name="p_add", type="probability", example="0.01", meaning="the probability that a zero becomes something else"
)
_P_DEL = FamilyParameter(
    name="p_del", type="probability", example="0.6", meaning="the probability that another value than zero is changed"
)
_ADD = ChangeKind("add", "zeros that become something else")
_DELETE = ChangeKind("delete", "other values that become zero")
_CHANGE = ChangeKind("change", "coordinates that are changed")

_FAMILIES = [
    FamilyInfo(
        name="discrete",
        models="Categories, bytes or pixels: a coordinate is kept, or becomes any of the K other values alike.",
        parameters=[
            _K,
            FamilyParameter(
                name="alpha", type="probability", example="0.8", meaning="the total probability of staying"
            ),
        ],
        kinds=[_CHANGE],
        kinds_follow=None,
        composed=False,
        example={"family": "discrete", "k": 255, "alpha": "0.8"},
        limits=20,
    ),
    FamilyInfo(
        name="sparse",
        models="Bits that are mostly 0, such as edges of graphs or words of documents: zeros and ones are flipped with "
        "probabilities of their own.",
        parameters=[_P_ADD, _P_DEL],
        kinds=[_ADD, _DELETE],
        kinds_follow=None,
        composed=False,
        example=_WORDS,
        limits={"add": 5, "delete": 20},
    ),
    FamilyInfo(
        name="sparse-levels",
        models="Values 0 to K that are mostly 0, such as counts: zeros and other values are changed with probabilities "
        "of their own.",
        parameters=[replace(_K, example=5), _P_ADD, _P_DEL],
        kinds=[_ADD, _DELETE, ChangeKind("change", "other values than zero that become another such value")],
        kinds_follow=None,
        composed=False,
        example={"family": "sparse-levels", "k": 5, "p_add": "0.01", "p_del": "0.6"},
        limits={"add": 2, "delete": 5, "change": 2},
    ),
    FamilyInfo(
        name="mask",
        models="Tokens, patches or pixels: each is hidden by itself, and the mask shows where.",
        parameters=[
            FamilyParameter(
                name="m", type="probability", example="0.9", meaning="the probability that a coordinate is hidden"
            )
        ],
        kinds=[_CHANGE],
        kinds_follow=None,
        composed=False,
        example={"family": "mask", "m": "0.9"},
        limits=100,
    ),
    FamilyInfo(
        name="ablation",
        models="Images or tables: a fixed number of coordinates, chosen at random, is shown, and all others are "
        "hidden.",
        parameters=[
            FamilyParameter(
                name="d", type="integer", low=1, high=MAX_DIMENSION, example=784, meaning="the number of coordinates"
            ),
            FamilyParameter(
                name="keep",
                type="integer",
                low=1,
                high=MAX_DIMENSION,
                example=45,
                meaning="how many of them are shown, at most d",
            ),
        ],
        kinds=[_CHANGE],
        kinds_follow=None,
        composed=False,
        example={"family": "ablation", "d": 784, "keep": 45},
        limits=784,
    ),
    FamilyInfo(
        name="deletion",
        models="Sequences such as programs or text: each symbol is deleted by itself.",
        parameters=[
            FamilyParameter(
                name="m", type="probability", example="0.9", meaning="the probability that a symbol is deleted"
            )
        ],
        kinds=[ChangeKind("edit", "insertions, deletions and substitutions of symbols together")],
        kinds_follow=None,
        composed=False,
        example={"family": "deletion", "m": "0.9"},
        limits=100,
    ),
    FamilyInfo(
        name="hierarchical",
        models="Large inputs of which only some coordinates, which are shown, are struck by another noise.",
        parameters=[
            FamilyParameter(
                name="base",
                type="family",
                example={"family": "discrete", "k": 255, "alpha": "0.2"},
                meaning="a noise that strikes each coordinate by itself",
            ),
            FamilyParameter(
                name="s", type="probability", example="0.95", meaning="the probability that a coordinate is struck"
            ),
        ],
        kinds=[],
        kinds_follow="those of the base",
        composed=True,
        example={"family": "hierarchical", "base": {"family": "discrete", "k": 255, "alpha": "0.2"}, "s": "0.95"},
        limits=100,
    ),
    FamilyInfo(
        name="joint",
        models="Several kinds of data at once, such as the edges and the attributes of a graph, each with a noise and "
        "a budget of its own.",
        parameters=[
            FamilyParameter(
                name="members",
                type="families",
                example={"edges": _WORDS, "tokens": {"family": "mask", "m": "0.9"}},
                meaning="families by names of your own, without . , = and :",
            )
        ],
        kinds=[],
        kinds_follow="name.kind for each kind of change of each member; a member with one kind has its name alone",
        composed=True,
        example={"family": "joint", "members": {"edges": _WORDS, "tokens": {"family": "mask", "m": "0.9"}}},
        limits={"edges": {"add": 2, "delete": 5}, "tokens": 3},
    ),
    FamilyInfo(
        name="grouped",
        models="Tables with columns of several kinds under one budget, which an adversary may spend on any of them.",
        parameters=[
            FamilyParameter(
                name="members",
                type="groups",
                example=[{"family": "discrete", "k": 9, "alpha": "0.5", "columns": 4}],
                meaning="families with one kind of change, each with its number of columns",
            )
        ],
        kinds=[_CHANGE],
        kinds_follow=None,
        composed=True,
        example={
            "family": "grouped",
            "members": [
                {"family": "discrete", "k": 9, "alpha": "0.5", "columns": 4},
                {"family": "discrete", "k": 1, "alpha": "0.6", "columns": 20},
            ],
        },
        limits=24,
    ),
    FamilyInfo(
        name="total",
        models="As another noise, with one budget for changes of all kinds together.",
        parameters=[FamilyParameter(name="base", type="family", example=_WORDS, meaning="the noise")],
        kinds=[ChangeKind("change", "changes of any kind")],
        kinds_follow=None,
        composed=True,
        example={"family": "total", "base": _WORDS},
        limits=20,
    ),
    FamilyInfo(
        name="regions",
        models="Any other noise, as the regions of constant likelihood ratio for 1, 2, … changes.",
        parameters=[
            FamilyParameter(
                name="regions",
                type="regions",
                example=[[["7/10", "1/10"], ["3/10", "9/10"]]],
                meaning="for each number of changes the pairs of masses under x and under the changed input",
            )
        ],
        kinds=[_CHANGE],
        kinds_follow=None,
        composed=True,
        example={"family": "regions", "regions": [[["7/10", "1/10"], ["3/10", "9/10"]]]},
        limits=1,
    ),
]


def answer_families() -> FamiliesAnswer:
    """All families, the simple ones first."""
    return FamiliesAnswer(families=_FAMILIES)
