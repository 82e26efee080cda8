"""What a run over a data set writes of each input. Needs neither numpy nor scikit-learn, so that reports do not."""

from typing import Final

import pyarrow as pa

KIND: Final = "trees"
"""What ``run.json`` of such a run says under ``kind``."""

SCHEMA: Final = pa.schema(
    [
        pa.field("index", pa.int64(), nullable=False),
        pa.field("label", pa.int32(), nullable=False),  # the place in the model's classes
        pa.field("prediction", pa.int32(), nullable=False),  # likewise; −1: p is 1/2
        pa.field("radius", pa.int32()),  # null: p is 1/2
        pa.field("p", pa.float64(), nullable=False),  # of the second class, the nearest double
        pa.field("low", pa.list_(pa.float64()), nullable=False),  # for 0, 1, …, r_max changes, rounded down
        pa.field("high", pa.list_(pa.float64()), nullable=False),  # likewise, rounded up
        pa.field("d", pa.int32(), nullable=False),
        pa.field("seconds", pa.float64(), nullable=False),
    ]
)
