"""Descriptions of runs: JSON objects that must be equal for results to belong together."""

import json
from collections.abc import Mapping
from typing import Any


def list_differences(there: Mapping[str, Any], here: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Every value of ``here`` that differs in ``there``, in full, by its dotted name.

    Values that only ``there`` has count below the first level: a later version may say more of a run than an earlier.
    """
    lines = []
    for key, value in here.items():
        other = there.get(key)
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            lines += list_differences(other, value, f"{prefix}{key}.")
            missing = sorted(other.keys() - value.keys())
            lines += [f"{prefix}{key}.{name} is {json.dumps(other[name])} there and missing here" for name in missing]
        elif other != value:
            lines.append(f"{prefix}{key} is {json.dumps(other)} there and {json.dumps(value)} here")
    return lines
