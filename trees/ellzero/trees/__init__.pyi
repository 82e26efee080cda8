from ellzero.trees.auc import AdversarialAuc as AdversarialAuc, adversarial_auc as adversarial_auc
from ellzero.trees.comparison import (
    CertificateComparison as CertificateComparison,
    compare_with_agnostic as compare_with_agnostic,
)
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
from ellzero.trees.general import SmoothedGeneralTree as SmoothedGeneralTree
from ellzero.trees.plain import (
    greedy_adversary as greedy_adversary,
    plain_distance as plain_distance,
    plain_probability_bounds as plain_probability_bounds,
)
