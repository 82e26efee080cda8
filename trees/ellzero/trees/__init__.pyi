from ellzero.trees.auc import AdversarialAuc as AdversarialAuc, adversarial_auc as adversarial_auc
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
