"""Lists of thresholds from elsewhere, such as those that the paper's authors published, judged row by row."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from ellzero.certificates import Discrete, threshold_rows
from ellzero.core.errors import BadResults, InvalidInput
from ellzero.core.text import count_noun
from ellzero.experiments.result import Cell, ResultColumn, ResultTable
from ellzero.experiments.threshold_settings import SETTINGS, PublishedSetting
from ellzero.tables.import_export import from_text
from ellzero.tables.verification import JudgedRow, judge_list

# A row speaks for a setting if it is that near to its threshold, as a share of 1 − τ: those of neighbouring α are not.
_NEAR = Fraction(1, 1_000)
# A row says nothing of its setting unless 1 − τ is so many units of its last digit.
_LEAST_UNITS = 100


def read_lists(folder: Path) -> dict[str, bytes]:
    """All files of a folder and its subfolders, by their path in it; hidden ones are left out."""
    if not folder.is_dir():
        raise InvalidInput("lists", "a folder that exists", str(folder))
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    inside = {path: path.relative_to(folder) for path in files}
    found = {name.as_posix(): path.read_bytes() for path, name in inside.items() if not name.name.startswith(".")}
    if not found:
        raise InvalidInput("lists", "a folder with files", str(folder))
    return found


@dataclass(frozen=True)
class JudgedList:
    """A list beside the exact thresholds of the setting and the α that it is about."""

    setting: PublishedSetting
    alpha: str
    rows: list[JudgedRow]


def judge_lists(files: Mapping[str, bytes]) -> tuple[dict[str, JudgedList], list[str]]:
    """The lists among these files, judged, and why each other file is none. Raises if there is no list."""
    judged, left_out = {}, []
    for name, content in files.items():
        try:
            judged[name] = judge_file(name, content)
        except BadResults as error:
            left_out.append(str(error))
            if len(left_out) == len(files):
                raise
    return judged, left_out


def judge_file(name: str, content: bytes) -> JudgedList:
    """A list beside the exact thresholds of the published setting that most of its rows agree with."""
    try:
        rows = list(from_text(content.decode("utf-8").splitlines()))
    except UnicodeDecodeError:
        raise BadResults(name, "is not a text file") from None
    except InvalidInput as error:
        raise BadResults(name, f"is no list of thresholds: {error}") from None
    if not rows:
        raise BadResults(name, "holds no rows")
    if twice := [r for r, times in Counter(r for r, _ in rows).items() if times > 1]:
        raise BadResults(name, f"has more than one row for r = {twice[0]}")
    candidates = [(setting, alpha) for setting in SETTINGS for alpha in setting.alphas]
    agreeing = [_count_agreeing(rows, Discrete(setting.k, alpha)) for setting, alpha in candidates]
    most = max(agreeing)
    if not most:
        raise BadResults(name, "is near the thresholds of no published setting")
    if agreeing.count(most) > 1:
        raise BadResults(name, "has too few rows or digits to tell which published setting it is about")
    setting, alpha = candidates[agreeing.index(most)]
    return JudgedList(setting, alpha, judge_list(Discrete(setting.k, alpha), rows))


def _count_agreeing(rows: Sequence[tuple[int, Decimal]], noise: Discrete) -> int:
    """How many rows speak for this noise; 0 unless most do of those that can tell it from others.

    A few wrong rows, which are to be found, do not hide what a list is about. τ_0 is 1/2 whatever the noise is, and
    thresholds that are nearly 1 are alike.
    """
    exact = threshold_rows(noise, [r for r, _ in rows])
    telling = agreeing = 0
    for (r, value), row in zip(rows, exact, strict=True):
        left = 1 - Fraction(row.value)
        unit = Fraction(1, 10 ** max(1, -int(value.as_tuple().exponent)))
        if r and left >= _LEAST_UNITS * unit:
            telling += 1
            agreeing += abs(Fraction(value) - Fraction(row.value)) <= max(left * _NEAR, unit)
    return agreeing if 2 * agreeing > telling else 0


def summarize_lists(lists: Mapping[str, JudgedList]) -> ResultTable:
    """How many rows of each list are equal to the exact ones, above or below them, or below when read as floats."""
    columns = (
        ResultColumn("file"),
        ResultColumn("setting"),
        ResultColumn("rows"),
        ResultColumn("equal"),
        ResultColumn("above"),
        ResultColumn("largest surplus, units"),
        ResultColumn("below τ: unsafe"),
        ResultColumn("below τ when read with float()"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            f"{judged.setting.data}, α = {judged.alpha}",
            len(judged.rows),
            sum(row.verdict == "equal" for row in judged.rows),
            sum(row.verdict == "loose" for row in judged.rows),
            max(0, *(row.units for row in judged.rows)),
            sum(row.verdict == "unsound" for row in judged.rows),
            sum(row.float_below for row in judged.rows),
        )
        for name, judged in lists.items()
    ]
    return ResultTable(
        "lists",
        "Lists of thresholds beside the exact ones",
        columns,
        tuple(rows),
        "A list is compared with the published setting that most of its rows agree with, in its own number of digits.",
    )


def describe_lists(lists: Mapping[str, JudgedList]) -> str:
    """All lists in a sentence."""
    rows = [row for judged in lists.values() for row in judged.rows]
    verdicts = Counter(row.verdict for row in rows)
    return (
        f"Of {count_noun(len(rows), 'row')} in {count_noun(len(lists), 'list')} {verdicts['equal']} are ⌈τ⌉, "
        f"{verdicts['loose']} above it, and {verdicts['unsound']} below τ; float() reads "
        f"{sum(row.float_below for row in rows)} as a number below τ."
    )


def list_judged_rows(lists: Mapping[str, JudgedList]) -> ResultTable:
    """Every row of every list beside the exact one."""
    columns = (
        ResultColumn("file"),
        ResultColumn("r"),
        ResultColumn("in the list"),
        ResultColumn("exact, rounded up"),
        ResultColumn("units above"),
        ResultColumn("float() is below τ"),
    )
    rows: list[tuple[Cell, ...]] = [
        (name, row.r, row.value, row.least, row.units, row.float_below)
        for name, judged in lists.items()
        for row in judged.rows
    ]
    return ResultTable("list rows", "Every row of the lists", columns, tuple(rows))
