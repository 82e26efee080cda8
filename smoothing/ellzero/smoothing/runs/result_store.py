"""The certificates of a run over a data set, stored as in `ellzero.core.part_store`."""

import json
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from ellzero.core.part_store import PartStore
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.errors import BadData
from ellzero.smoothing.results import Certified

SOURCE: Final = "source.json"
SCHEMA = pa.schema(
    [
        pa.field("index", pa.int64(), nullable=False),
        pa.field("label", pa.int32(), nullable=False),
        pa.field("prediction", pa.int32(), nullable=False),  # −1: abstains
        pa.field("radius", pa.int32()),  # null: abstains
        pa.field("selected", pa.int32(), nullable=False),
        pa.field("count", pa.int64(), nullable=False),
        pa.field("drawn", pa.int64(), nullable=False),
        pa.field("counts", pa.list_(pa.int64()), nullable=False),
        pa.field("selection", pa.list_(pa.int64()), nullable=False),
        pa.field("lower_bound", pa.float64(), nullable=False),
        pa.field("upper_bound", pa.float64()),
        pa.field("l1", pa.float64()),
        pa.field("l2", pa.float64()),
        pa.field("linf", pa.float64()),
        pa.field("d", pa.int32(), nullable=False),
        pa.field("seconds", pa.float64(), nullable=False),
        # The looks that were made, with staged stopping; run.json has the failure of each.
        pa.field("looks", pa.list_(pa.struct([("n", pa.int64()), ("count", pa.int64())]))),
        # At each of them, the votes of the strongest class but the selected one; later than the column of looks.
        pa.field("look_rivals", pa.list_(pa.int64())),
    ]
)


class ResultStore(PartStore):
    """The certificates in a folder."""

    optional = ("top_k",)

    def __init__(self, uri: str, stamp: str = "") -> None:
        super().__init__(uri, SCHEMA, stamp)

    def write(self, rows: Sequence[tuple[int, int, Certified]]) -> str:
        """Write the results of consecutive inputs, as (index, label, result), and return the name of their file."""
        return self.write_rows([_row(*row) for row in rows])

    def write_source(self, source: DataSource) -> None:
        """Write where the inputs come from, for those who want to look at them. Results do not depend on it."""
        self.folder.write(SOURCE, json.dumps(source.describe(), indent=1).encode() + b"\n")

    def source(self) -> DataSource | None:
        """Where the inputs come from; None if the folder does not say. `BadData` if its file is damaged."""
        try:
            description = json.loads(self.folder.read(SOURCE))
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError) as error:
            raise BadData(SOURCE, "is damaged: it is not JSON") from error
        return DataSource.of(description)


def _row(index: int, label: int, result: Certified) -> dict[str, Any]:
    return {
        "index": index,
        "label": label,
        "prediction": result.prediction,
        "radius": result.radius,
        "selected": result.selected,
        "count": result.count,
        "drawn": result.drawn,
        "counts": list(result.counts),
        "selection": list(result.selection),
        "lower_bound": result.lower_bound,
        "upper_bound": result.upper_bound,
        **{norm: result.other_radii.get(norm) for norm in ("l1", "l2", "linf")},
        "d": result.d,
        "seconds": result.seconds,
        "looks": [{"n": look.n, "count": look.count} for look in result.looks] or None,
        "look_rivals": [look.rival for look in result.looks] or None,
    }
