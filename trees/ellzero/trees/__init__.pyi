from ellzero.trees.auc import AdversarialAuc as AdversarialAuc, adversarial_auc as adversarial_auc
from ellzero.trees.comparison import (
    CertificateComparison as CertificateComparison,
    compare_with_agnostic as compare_with_agnostic,
)
from ellzero.trees.data import BinaryData as BinaryData, load_binary_data as load_binary_data
from ellzero.trees.errors import (
    SearchTooLarge as SearchTooLarge,
    TreesError as TreesError,
    UnreadableFile as UnreadableFile,
    UnusableFeatures as UnusableFeatures,
    UnusableLabels as UnusableLabels,
    UnusableTree as UnusableTree,
)
from ellzero.trees.estimators import (
    SmoothedForestClassifier as SmoothedForestClassifier,
    SmoothedTreeClassifier as SmoothedTreeClassifier,
)
from ellzero.trees.general import SmoothedGeneralTree as SmoothedGeneralTree
from ellzero.trees.model_file import load_trees as load_trees, save_trees as save_trees
from ellzero.trees.molecules import (
    compute_fingerprints as compute_fingerprints,
    split_by_scaffold as split_by_scaffold,
    split_randomly as split_randomly,
)
from ellzero.trees.plain import (
    greedy_adversary as greedy_adversary,
    plain_distance as plain_distance,
    plain_probability_bounds as plain_probability_bounds,
)
