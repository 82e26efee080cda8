"""One adversary against all predictions at once: how many can change within a global budget.

Each prediction v depends on the inputs of its receptive field ψ_v only, and is certified for a staircase of budgets
spent *there*. An adversary changes one graph, and what it spends far from v does not count against v. So not all
predictions that could change by themselves can change together. With b_i the budget spent at node i, and c¹, c², … the
least budgets that are not certified for v, the number that can change is at most the largest Σ_v Σ_j t_vj with

    Σ_j t_vj ≤ 1,    Σ_j c^j_k t_vj ≤ Σ_{i∈ψ_v} b_ik,    Σ_i b_ik ≤ B_k,    b_ik ≤ m_ik,    t, b ≥ 0

for each kind of change k. In integers this is exact for what the certificates say; the relaxation bounds it.
Schuchardt, Bojchevski, Klicpera and Günnemann: *Collective Robustness Certificates: Exploiting Interdependence in Graph
Neural Networks*, ICLR 2021, https://arxiv.org/abs/2302.02829.

The bound that is returned rests on no solver. For **any** multipliers β_vk ≥ 0, moving the second constraint into the
objective gives, by weak duality,

    number ≤ Σ_v max(0, max_j (1 − Σ_k c^j_k β_vk)) + Σ_k max { Σ_i b_ik L_ik : Σ_i b_ik ≤ B_k, b_ik ≤ m_ik },

L_ik = Σ_{v: i∈ψ_v} β_vk, whose last part a sort solves. HiGHS proposes β, which is then held in integers of 2^-32: the
bound is exact arithmetic, and so is its floor. Needs scipy: ``pip install 'ellzero[graphs]'``.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ellzero.certificates.families.base import Counts
from ellzero.core.errors import InvalidInput, MissingExtra
from ellzero.core.numbers import MAX_DIMENSION, read_integer

try:
    import numpy as np
    import numpy.typing as npt
    from scipy import optimize, sparse
except ModuleNotFoundError as error:
    raise MissingExtra("a collective certificate", "graphs", error.name or "") from None

SparseArray: TypeAlias = Any  # of scipy, which has no types
IntegerArray: TypeAlias = npt.NDArray[np.int64]

_SCALE: Final = 1 << 32


@dataclass(frozen=True)
class CollectiveCertificate:
    """Of ``predictions``, at least ``certified`` keep their class whatever one adversary does within ``budget``.

    ``certified_alone`` is what certificates of single predictions say: how many of them cover the whole budget.
    """

    budget: Counts
    predictions: int
    certified: int
    certified_alone: int

    @property
    def changeable(self) -> int:
        """How many predictions can change at once, at most."""
        return self.predictions - self.certified


def certify_collectively(
    staircases: Sequence[Iterable[Counts]],
    fields: SparseArray,
    budget: Counts,
    capacities: npt.ArrayLike | None = None,
) -> CollectiveCertificate:
    """How many of the predictions one adversary cannot change within ``budget``, a number for each kind of change.

    ``staircases`` are the largest certified budgets of each prediction (none if it abstains), at least as far as
    ``budget`` goes. They must hold whatever happens outside its receptive field: the row of ``fields``, a matrix of
    predictions × nodes with non-zero entries where a prediction depends on a node. ``capacities``, nodes × kinds, say
    how much can be changed at a node at most: the zeros and the ones among its features.

    If certificates of single predictions hold with some probability each, this holds where all of them do.

    >>> alone = [[(0,)], [(0,)], [(0,)]]  # none of three predictions is certified for a single change
    >>> certify_collectively(alone, [[1, 1, 0], [0, 1, 1], [0, 0, 1]], (1,))
    CollectiveCertificate(budget=(1,), predictions=3, certified=1, certified_alone=0)
    """
    box = tuple(read_integer(each, "budget", 0, MAX_DIMENSION) for each in budget)
    matrix = _read_fields(fields, len(staircases))
    most = _read_capacities(capacities, matrix.shape[1], box)
    spendable = matrix @ most  # in each receptive field
    points = [
        [point for point in find_uncertified(staircase, box) if (np.array(point) <= spent).all()]
        for staircase, spent in zip(staircases, spendable, strict=True)
    ]
    places = [place for place, each in enumerate(points) if each]
    changeable = 0
    if places:
        relaxation = Relaxation(matrix[places], [points[place] for place in places], box, most)
        changeable = min(len(places), relaxation.bound(relaxation.propose()))
    return CollectiveCertificate(box, len(points), len(points) - changeable, len(points) - len(places))


def find_uncertified(staircase: Iterable[Counts], box: Counts) -> list[Counts]:
    """The least budgets within ``box`` that lie below none of the largest certified ones, ascending.

    A budget within the box is not certified iff it is at least one of these.

    >>> find_uncertified([(0, 3), (1, 1)], (5, 5))
    [(0, 4), (1, 2), (2, 0)]
    """
    points = {(0,) * len(box)}
    for largest in staircase:
        if len(largest) != len(box):
            raise InvalidInput("staircases", f"of budgets of {len(box)} kinds, as the budget is", largest)
        grown = {beyond for point in points for beyond in _leave(point, largest, box)}
        points = {point for point in grown if not any(_is_below(other, point) for other in grown)}
    return sorted(points)


@dataclass(frozen=True)
class Relaxation:
    """The linear program of predictions that can change by themselves, and what multipliers prove of it.

    ``points`` are the least uncertified budgets of each prediction, none of them without any.
    """

    fields: SparseArray
    points: Sequence[Sequence[Counts]]
    box: Counts
    capacities: IntegerArray

    def propose(self) -> npt.NDArray[np.float64]:
        """The multipliers of an optimum, as a solver has them, predictions × kinds; 0 where it has none.

        They decide how tight a bound is, never whether it holds.
        """
        predictions, nodes = self.fields.shape
        kinds, owners = len(self.box), np.repeat(np.arange(predictions), [len(each) for each in self.points])
        options, fields = np.arange(len(owners)), self.fields.astype(float)
        shape = (predictions, len(owners))
        needs = np.array([point for each in self.points for point in each], dtype=float)
        chosen = sparse.csr_array((np.ones(len(owners)), (owners, options)), shape=shape)
        blocks: list[list[Any]] = [[chosen, *[None] * kinds]]
        for kind in range(kinds):
            need = sparse.csr_array((needs[:, kind], (owners, options)), shape=shape)
            blocks.append([need, *(-fields if each == kind else None for each in range(kinds))])
        everywhere = sparse.csr_array(np.ones((1, nodes)))
        blocks.extend([None, *(everywhere if each == kind else None for each in range(kinds))] for kind in range(kinds))
        free = np.full(len(owners), np.inf)
        upper = np.concatenate([free, self.capacities.T.reshape(-1)])
        solution = optimize.linprog(
            -np.concatenate([np.ones(len(owners)), np.zeros(kinds * nodes)]),
            A_ub=sparse.csr_array(sparse.block_array(blocks)),
            b_ub=np.concatenate([np.ones(predictions), np.zeros(kinds * predictions), self.box]),
            bounds=np.stack([np.zeros(len(upper)), upper], axis=1),
            method="highs",
        )
        if solution.status != 0:
            return np.zeros((predictions, kinds))
        marginals: npt.NDArray[np.float64] = -solution.ineqlin.marginals[predictions : (1 + kinds) * predictions]
        return marginals.reshape(kinds, predictions).T

    def bound(self, multipliers: npt.NDArray[np.float64]) -> int:
        """How many predictions can change at most, by any multipliers at all. Exact, in integers."""
        # No cost above 0 is below 1, so multipliers above 1 prove no more than 1 does.
        betas = np.rint(np.clip(np.nan_to_num(multipliers), 0, 1) * _SCALE).astype(np.int64)
        total = sum(
            max(0, *(_SCALE - sum(need * each for need, each in zip(point, beta, strict=True)) for point in points))
            for beta, points in zip(betas.tolist(), self.points, strict=True)
        )
        loads = self.fields.T @ betas
        for kind, left in enumerate(self.box):
            order = np.argsort(-loads[:, kind], kind="stable")
            for load, capacity in zip(loads[order, kind].tolist(), self.capacities[order, kind].tolist(), strict=True):
                total += min(left, capacity) * load
                left -= min(left, capacity)
                if not left:
                    break
        return int(total // _SCALE)


def _leave(point: Counts, largest: Counts, box: Counts) -> Iterator[Counts]:
    """The least budgets within the box that are at least ``point`` and not below ``largest``."""
    if not all(count <= most for count, most in zip(point, largest, strict=True)):
        yield point
        return
    for kind, most in enumerate(largest):
        if most < box[kind]:
            yield (*point[:kind], most + 1, *point[kind + 1 :])


def _is_below(other: Counts, point: Counts) -> bool:
    return other != point and all(a <= b for a, b in zip(other, point, strict=True))


def _read_fields(fields: SparseArray, predictions: int) -> SparseArray:
    """The receptive fields as a matrix of 0 and 1 in integers."""
    matrix = sparse.csr_array(fields)
    if matrix.shape[0] != predictions or not predictions:
        raise InvalidInput("fields", f"a matrix with {predictions} rows, one for each prediction", matrix.shape)
    return (matrix != 0).astype(np.int64)


def _read_capacities(capacities: npt.ArrayLike | None, nodes: int, box: Counts) -> IntegerArray:
    most = np.full((nodes, len(box)), MAX_DIMENSION) if capacities is None else np.asarray(capacities)
    if most.shape != (nodes, len(box)) or most.dtype.kind not in "iu" or (most.size and most.min() < 0):
        raise InvalidInput("capacities", f"integers of at least 0 of shape ({nodes}, {len(box)})", most.shape)
    limited: IntegerArray = np.minimum(most, np.array(box)).astype(np.int64)
    return limited
