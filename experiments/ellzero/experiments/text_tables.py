"""The tables of the experiment on sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from ellzero.core.conventions import DEFAULT_FAILURE
from ellzero.experiments.estimates import estimate_mean, estimate_share
from ellzero.experiments.result import Cell, ResultColumn, ResultTable
from ellzero.experiments.text_settings import LEAST_SHOWN, TextSettings
from ellzero.smoothing.runs.metrics import Outcome, Report, summarize

R_MAX: Final = 6
CONSTANT: Final = "always the same class"

_WITHOUT: Final = "ACC@1 without a class"
_WITHOUT_CAPTION: Final = (
    "ACC@1 without a class is that of the sentences of all other classes, for the class where this is least: a "
    "classifier that always gives the same answer has 0."
)
_KINDS: Final[Mapping[str, str]] = {
    "mask": "hidden with probability {}",
    "masked-share": "share {} hidden",
    "discrete": "kept with probability {}",
}


@dataclass(frozen=True)
class FloatClaims:
    """What a rule in floating point claims of the same votes, for every sentence; −1 to abstain."""

    rule: str
    radii: tuple[int, ...]


@dataclass(frozen=True)
class TextRow:
    """What one noise certifies of a corpus: ``kind`` is mask, masked-share or discrete, and ``level`` its parameter."""

    kind: str
    level: str
    digest: str
    outcomes: tuple[Outcome, ...]
    drawn: Fraction
    claims: tuple[FloatClaims, ...]

    @property
    def title(self) -> str:
        return _KINDS[self.kind].format(self.level)

    @property
    def report(self) -> Report:
        return summarize(self.outcomes, R_MAX)

    @property
    def proved(self) -> tuple[int, ...]:
        """The radius of each certificate, right or not; −1 to abstain."""
        return tuple(-1 if outcome.radius is None else outcome.radius for outcome in self.outcomes)

    def count_beyond(self, claims: FloatClaims) -> int:
        """Of how many sentences a rule claims more than the votes prove."""
        return sum(claimed > radius for claimed, radius in zip(claims.radii, self.proved, strict=True))


@dataclass(frozen=True)
class CorpusRows:
    """A corpus, its rows, and the share of its test sentences that have the most frequent class of the training."""

    name: str
    title: str
    rows: tuple[TextRow, ...]
    size: int
    constant_share: float


def make_tuning_table(
    corpus: str, title: str, tuned: Mapping[tuple[str, str], Sequence[Outcome]], chosen: Sequence[tuple[str, str]]
) -> ResultTable:
    """Validation sentences under each noise, and which of them were chosen."""
    columns = (
        ResultColumn("noise on each token"),
        ResultColumn("μ(R)", digits=3),
        *(ResultColumn(f"r = {r}", digits=3) for r in range(3)),
        ResultColumn(_WITHOUT, digits=3),
        ResultColumn("tested"),
    )
    rows: list[tuple[Cell, ...]] = []
    for (kind, level), outcomes in tuned.items():
        report = summarize(outcomes, 2)
        shares = map(estimate_share, report.accuracy)
        without = share_without_a_class(outcomes, 1)
        rows.append((_KINDS[kind].format(level), estimate_mean(report), *shares, without, (kind, level) in chosen))
    caption = (
        f"{len(next(iter(tuned.values()))):,} validation sentences. {_WITHOUT_CAPTION} Tested are the levels where it "
        "is largest, and where ACC@2 so counted is."
    )
    return ResultTable(f"{corpus}-tuning", f"{title}: noise on validation sentences", columns, tuple(rows), caption)


def make_accuracy_table(corpus: CorpusRows, settings: TextSettings) -> ResultTable:
    columns = (
        ResultColumn("noise on each token"),
        ResultColumn("μ(R)", digits=3),
        ResultColumn("median R"),
        *(ResultColumn(f"r = {r}", digits=3) for r in range(R_MAX + 1)),
    )
    rows: list[tuple[Cell, ...]] = []
    for row in corpus.rows:
        report = row.report
        rows.append(
            (row.title, estimate_mean(report), f"{report.median_radius:g}", *map(estimate_share, report.accuracy))
        )
    rows.append((CONSTANT, None, "–", *[corpus.constant_share] * (R_MAX + 1)))
    count = len(corpus.rows[0].outcomes)
    sentences = f"all {count:,}" if count == corpus.size else f"{count:,} of {corpus.size:,}"
    caption = (
        f"ACC@r on {sentences} test sentences, n = {settings.n:,}, each certificate at "
        f"{1 - float(DEFAULT_FAILURE):.1%}; bands of 95 % over sentences. The last row answers every sentence with the "
        "most frequent class of the training sentences: no change can move that, and it needs no votes."
    )
    return ResultTable(f"{corpus.name}-accuracy", f"{corpus.title}: certified accuracy", columns, tuple(rows), caption)


def make_run_table(corpora: Sequence[CorpusRows]) -> ResultTable:
    columns = (
        ResultColumn("data"),
        ResultColumn("noise on each token"),
        ResultColumn("model, SHA-256"),
        ResultColumn("sentences"),
        ResultColumn("wrong"),
        ResultColumn("abstained"),
        ResultColumn(_WITHOUT, digits=3),
        ResultColumn("votes drawn", "percent", 1),
    )
    rows: list[tuple[Cell, ...]] = []
    for corpus in corpora:
        for row in corpus.rows:
            report = row.report
            rows.append(
                (
                    corpus.title,
                    row.title,
                    row.digest[:12],
                    report.inputs,
                    report.wrong,
                    report.abstained,
                    share_without_a_class(row.outcomes, 1),
                    row.drawn,
                )
            )
    return ResultTable("runs", "Runs", columns, tuple(rows), _WITHOUT_CAPTION)


def make_float_table(corpora: Sequence[CorpusRows]) -> ResultTable:
    """What rules in floating point claim of the votes, beside what these prove."""
    columns = (
        ResultColumn("data"),
        ResultColumn("noise on each token"),
        ResultColumn("rule"),
        ResultColumn("sentences"),
        ResultColumn("claims more than is proved"),
        ResultColumn("largest surplus"),
        ResultColumn("claims less"),
        ResultColumn("μ(R) proved", digits=3),
        ResultColumn("μ(R) claimed", digits=3),
    )
    rows: list[tuple[Cell, ...]] = []
    for corpus in corpora:
        for row in corpus.rows:
            for claims in row.claims:
                surplus = [claimed - radius for claimed, radius in zip(claims.radii, row.proved, strict=True)]
                right = [outcome.label == outcome.prediction for outcome in row.outcomes]
                claimed = sum(max(radius, 0) for radius, own in zip(claims.radii, right, strict=True) if own)
                rows.append(
                    (
                        corpus.title,
                        row.title,
                        claims.rule,
                        len(surplus),
                        row.count_beyond(claims),
                        max(0, *surplus),
                        sum(more < 0 for more in surplus),
                        row.report.mean_radius,
                        claimed / len(surplus),
                    )
                )
    caption = (
        "The same looks at the same votes. Proved is what the exact certificate of the noise that was drawn says; if "
        "nothing else is known of the classifier, a bound of its probability proves no more. A fixed share leaves at "
        f"least {LEAST_SHOWN} tokens."
    )
    return ResultTable("floats", "The same votes in floating point", columns, tuple(rows), caption)


def make_notes(corpora: Sequence[CorpusRows]) -> list[str]:
    """What a certificate says, and how often each rule claims more than is proved."""
    counts: dict[str, list[int]] = {}
    for corpus in corpora:
        for row in corpus.rows:
            for claims in row.claims:
                count = counts.setdefault(claims.rule, [0, 0])
                count[0] += row.count_beyond(claims)
                count[1] += len(claims.radii)
    summary = "; ".join(f"{rule}: {beyond:,} of {all_of:,}" for rule, (beyond, all_of) in counts.items())
    confidence = 1 - float(DEFAULT_FAILURE)
    meaning = (
        f"A certificate of radius r says, with probability {confidence:g} over its votes: the smoothed answer stays "
        "whatever r tokens of the sentence, or fewer, are substituted, as long as its length stays."
    )
    return [meaning, f"Certificates by other rules that claim more than the same votes prove: {summary}."]


def share_without_a_class(outcomes: Sequence[Outcome], r: int) -> float:
    """ACC@r of the inputs that are left without one class, the least over all classes; 0 for a constant answer."""
    others = (
        [outcome for outcome in outcomes if outcome.label != label] for label in {outcome.label for outcome in outcomes}
    )
    return min((summarize(each, r).accuracy[r].share for each in others if each), default=0.0)
