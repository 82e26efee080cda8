"""What every shard says of itself in its Parquet footer, under the key ``ellzero``."""

import json
from importlib.metadata import version
from typing import Any

from ellzero.core.conventions import CONVENTIONS_DICT
from ellzero.tables.errors import DamagedShard, NewerFormat
from ellzero.tables.format.rows import DIGITS

KEY = b"ellzero"
FORMAT = 1


def encode(kind: str, contents: dict[str, Any]) -> dict[bytes, bytes]:
    """The footer's metadata: format, kind, engine and version, digits, conventions, and what the kind adds."""
    stated = {
        "format": FORMAT,
        "kind": kind,
        "engine": "ellzero.certificates",
        "version": version("ellzero"),
        "digits": DIGITS,
        "conventions": CONVENTIONS_DICT,
        **contents,
    }
    return {KEY: json.dumps(stated, ensure_ascii=False, separators=(",", ":")).encode()}


def decode(name: str, metadata: dict[bytes, bytes] | None) -> dict[str, Any]:
    """The footer of a shard that this version can read: its format, digits and conventions are the known ones."""
    if metadata is None or KEY not in metadata:
        raise DamagedShard(name, "is not a shard of ellzero: its footer says nothing of it")
    try:
        stated = json.loads(metadata[KEY])
        newer = int(stated["format"]) > FORMAT
        str(stated["kind"])
    except (ValueError, KeyError, TypeError):
        raise DamagedShard(name, "is not a shard of ellzero: its footer cannot be read") from None
    if newer:
        raise NewerFormat(name, int(stated["format"]), FORMAT)
    if stated.get("digits") != DIGITS or stated.get("conventions") != CONVENTIONS_DICT:
        raise DamagedShard(name, "follows other conventions or digits than format 1 does")
    return dict(stated)
