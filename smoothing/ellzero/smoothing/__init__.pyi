from ellzero.smoothing.advice import Advice as Advice, advise as advise
from ellzero.smoothing.classifier import SmoothedClassifier as SmoothedClassifier
from ellzero.smoothing.conformal import ConformalSmoother as ConformalSmoother
from ellzero.smoothing.documents import make_certificate as make_certificate, write_certificate as write_certificate
from ellzero.smoothing.errors import (
    SmallCalibrationWarning as SmallCalibrationWarning,
    UnreachableRadiusWarning as UnreachableRadiusWarning,
)
from ellzero.smoothing.noise.composed import (
    GroupedNoise as GroupedNoise,
    HierarchicalNoise as HierarchicalNoise,
    JointNoise as JointNoise,
    TotalNoise as TotalNoise,
)
from ellzero.smoothing.noise.continuous import GaussianNoise as GaussianNoise, UniformNoise as UniformNoise
from ellzero.smoothing.noise.deletion import DeletionNoise as DeletionNoise
from ellzero.smoothing.noise.discrete import DiscreteNoise as DiscreteNoise, Unit as Unit
from ellzero.smoothing.noise.mask import AblationNoise as AblationNoise, MaskNoise as MaskNoise
from ellzero.smoothing.noise.sparse import SparseLevelsNoise as SparseLevelsNoise, SparseNoise as SparseNoise
from ellzero.smoothing.results import (
    ABSTAIN as ABSTAIN,
    Certified as Certified,
    Predicted as Predicted,
    PredictionSet as PredictionSet,
)
from ellzero.smoothing.sampling.sampling_task import CertifySettings as CertifySettings
from ellzero.smoothing.sampling.stopping_rules import Stopping as Stopping
from ellzero.smoothing.training_noise import add_noise as add_noise
from ellzero.smoothing.voters.remote_voter import RemoteModel as RemoteModel
