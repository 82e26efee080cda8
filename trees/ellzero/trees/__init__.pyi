from ellzero.trees.errors import (
    SearchTooLarge as SearchTooLarge,
    TreesError as TreesError,
    UnusableFeatures as UnusableFeatures,
    UnusableLabels as UnusableLabels,
    UnusableTree as UnusableTree,
)
from ellzero.trees.estimators import (
    SmoothedForestClassifier as SmoothedForestClassifier,
    SmoothedTreeClassifier as SmoothedTreeClassifier,
)
