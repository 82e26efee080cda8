"""Lists of thresholds from elsewhere, such as those that the paper's authors published, judged row by row."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from statistics import median

from ellzero.certificates import Discrete, threshold_rows
from ellzero.core.errors import BadResults, InvalidInput
from ellzero.experiments.result import Cell, ResultColumn, ResultTable
from ellzero.experiments.threshold_settings import SETTINGS, PublishedSetting
from ellzero.tables.import_export import from_text
from ellzero.tables.verification import JudgedRow, judge_list

# Lists of neighbouring α differ by more than that from r = 1 on.
_NEAR = Fraction(1, 1_000)


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
    """A list beside the exact thresholds of the setting and the α that it is nearest to."""

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
    """A list beside the exact thresholds of the published setting that it is nearest to."""
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
    distances = [_measure_distance(rows, Discrete(setting.k, alpha)) for setting, alpha in candidates]
    nearest = min(range(len(candidates)), key=distances.__getitem__)
    if distances[nearest] > _NEAR:
        raise BadResults(name, "is near the thresholds of no published setting")
    setting, alpha = candidates[nearest]
    return JudgedList(setting, alpha, judge_list(Discrete(setting.k, alpha), rows))


def _measure_distance(rows: Sequence[tuple[int, Decimal]], noise: Discrete) -> Fraction:
    """The median over the rows: a few wrong ones, which are to be found, do not hide what a list is about."""
    exact = threshold_rows(noise, [r for r, _ in rows])
    distances = [abs(Fraction(value) - Fraction(row.value)) for (_, value), row in zip(rows, exact, strict=True)]
    return median(distances)


def summarize_lists(lists: Mapping[str, JudgedList]) -> ResultTable:
    """How many rows of each list are equal to the exact ones, above or below them, or below when read as floats."""
    columns = (
        ResultColumn("file"),
        ResultColumn("nearest setting"),
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
        "Each list is compared with the published setting that it is nearest to, with as many digits as it has.",
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
