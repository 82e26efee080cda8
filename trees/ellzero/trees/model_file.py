"""A fitted tree or forest as one file without code: JSON, checked field by field when it is read.

Doubles are written as their shortest decimals, which are read back to the same doubles: the estimator that is read is
the one that was written. A model is named by the SHA-256 of its file.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Interval, Le, MaxLen, MinLen
from pydantic import ConfigDict, TypeAdapter, ValidationError
from sklearn.utils.validation import check_is_fitted

from ellzero.core.errors import EllzeroError, InvalidInput
from ellzero.core.storage import Folder
from ellzero.core.text import first_line
from ellzero.trees.errors import UnreadableFile, UnusableLabels
from ellzero.trees.estimators import SmoothedForestClassifier, SmoothedTreeClassifier, SmoothedTrees

_MOST_BYTES = 1_000_000_000
Label = bool | int | float | str
Index = Annotated[int, Interval(ge=-1, le=2**31 - 1)]


@dataclass(frozen=True)
class TreeFile:
    """What the file says: how the estimator was made, its nodes, and notes for people, which nothing depends on."""

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    format: Literal["ellzero trees"]
    version: Annotated[int, Ge(1), Le(1)]
    kind: Literal["tree", "forest"]
    alpha: str
    max_depth: Annotated[int, Ge(1)]
    leaf: Literal["share", "majority"]
    n_features: Annotated[int, Gt(0), Le(2**31 - 1)]
    classes: Annotated[list[Label], MinLen(2), MaxLen(2)]
    feature: Annotated[list[Index], MinLen(1)]
    left: list[Index]
    right: list[Index]
    value: list[float]
    roots: Annotated[list[Index], MinLen(1)]
    feature_names: list[str] | None
    notes: dict[str, Any]


@dataclass(frozen=True, eq=False)
class SavedTrees:
    """An estimator as a file had it. ``digest`` is the SHA-256 of the file, which names the model."""

    estimator: SmoothedTrees
    digest: str
    feature_names: list[str] | None
    notes: dict[str, Any]

    @property
    def kind(self) -> str:
        """tree or forest."""
        return _kind(self.estimator)


def save_trees(
    estimator: SmoothedTrees,
    path: str | Path,
    notes: dict[str, Any] | None = None,
    feature_names: Sequence[str] | None = None,
) -> str:
    """Write a fitted estimator to a file, whole or not at all, and return its SHA-256.

    ``notes`` are for people: where the data came from, say. They must be JSON. ``feature_names`` has one for each
    feature; by default it is the ``feature_names_in_`` of an estimator that was fitted to a data frame.
    `UnusableLabels` if the classes are neither numbers nor text.
    """
    check_is_fitted(estimator)
    if feature_names is None:
        feature_names = getattr(estimator, "feature_names_in_", None)
    names = None if feature_names is None else [str(name) for name in feature_names]
    if names is not None and len(names) != estimator.n_features_in_:
        raise InvalidInput("feature_names", f"{estimator.n_features_in_:,} names, one for each feature", len(names))
    classes = estimator.classes_.tolist()
    if not all(isinstance(label, Label) for label in classes):
        raise UnusableLabels(f"a model file has classes of numbers or text, not of {type(classes[0]).__name__}")
    content = TreeFile(
        format="ellzero trees",
        version=1,
        kind="tree" if _kind(estimator) == "tree" else "forest",
        alpha=str(estimator.alpha_),
        max_depth=int(estimator.max_depth),
        leaf="share" if estimator.leaf == "share" else "majority",
        n_features=int(estimator.n_features_in_),
        classes=classes,
        feature=estimator.feature_.tolist(),
        left=estimator.left_.tolist(),
        right=estimator.right_.tolist(),
        value=estimator.value_.tolist(),
        roots=estimator.roots_.tolist(),
        feature_names=names,
        notes=notes or {},
    )
    data = json.dumps(asdict(content), allow_nan=False).encode() + b"\n"
    target = Path(path)
    Folder(str(target.parent)).write(target.name, data)
    return hashlib.sha256(data).hexdigest()


def load_trees(path: str | Path) -> SavedTrees:
    """The estimator in a file, checked: `UnreadableFile` says what is wrong with it."""
    place = str(path)
    try:
        if Path(path).stat().st_size > _MOST_BYTES:
            raise UnreadableFile(place, "is larger than any model of trees")
        data = Path(path).read_bytes()
    except OSError as error:
        raise UnreadableFile(place, f"cannot be read: {error.strerror or error}") from error
    return parse_trees(data, place)


def parse_trees(data: bytes, place: str) -> SavedTrees:
    """The estimator in the bytes of a file."""
    try:
        content = _adapter().validate_json(data)
        names = content.feature_names
        if names is not None and len(names) != content.n_features:
            raise InvalidInput("feature_names", f"{content.n_features:,} names, one for each feature", len(names))
        fields: dict[str, Any] = {
            name: getattr(content, name)
            for name in (
                "feature",
                "left",
                "right",
                "value",
                "roots",
                "n_features",
                "classes",
                "alpha",
                "max_depth",
                "leaf",
            )
        }
        estimator: SmoothedTrees
        if content.kind == "tree":
            estimator = SmoothedTreeClassifier.from_arrays(**fields)
        else:
            estimator = SmoothedForestClassifier.from_arrays(**fields, n_trees=len(content.roots))
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        where = ".".join(map(str, wrong["loc"]))
        raise UnreadableFile(place, f"is no model of trees: {where + ': ' if where else ''}{wrong['msg']}") from error
    except (EllzeroError, OverflowError, RecursionError, ValueError) as error:
        raise UnreadableFile(place, f"is no model of trees: {first_line(error)}") from error
    return SavedTrees(estimator, hashlib.sha256(data).hexdigest(), names, content.notes)


def _kind(estimator: SmoothedTrees) -> str:
    return "tree" if isinstance(estimator, SmoothedTreeClassifier) else "forest"


@cache
def _adapter() -> TypeAdapter[TreeFile]:
    return TypeAdapter(TreeFile)
