"""What the service answers, as plain frozen types: the wire contract, and what every client returns.

Numbers that a proof rests on are exact: thresholds and margins are Decimals (text on the wire), α is text, "1/5" say.
This module needs nothing but Python, so that every part may speak in it.
"""

from ellzero.core.schemas.families import (
    BudgetPlanAnswer as BudgetPlanAnswer,
    BudgetThreshold as BudgetThreshold,
    BudgetThresholdsAnswer as BudgetThresholdsAnswer,
    CertifiedAnswer as CertifiedAnswer,
    CertifiedListAnswer as CertifiedListAnswer,
    ChangeKind as ChangeKind,
    FamiliesAnswer as FamiliesAnswer,
    FamilyInfo as FamilyInfo,
    FamilyParameter as FamilyParameter,
    ParameterType as ParameterType,
)
from ellzero.core.schemas.lookup import (
    CompareAnswer as CompareAnswer,
    ComparedThreshold as ComparedThreshold,
    End as End,
    PlanAnswer as PlanAnswer,
    RadiiAnswer as RadiiAnswer,
    RadiiArray as RadiiArray,
    RadiusAnswer as RadiusAnswer,
    Source as Source,
    TableBudgets as TableBudgets,
    TableColumn as TableColumn,
    TablesAnswer as TablesAnswer,
    ThresholdRow as ThresholdRow,
    ThresholdsAnswer as ThresholdsAnswer,
    combine_sources as combine_sources,
)
from ellzero.core.schemas.problem import (
    Problem as Problem,
)
from ellzero.core.schemas.results import (
    CertifiedInput as CertifiedInput,
    CertifiedInputsAnswer as CertifiedInputsAnswer,
    CertifiedShare as CertifiedShare,
    InputLevelsAnswer as InputLevelsAnswer,
    ReportAnswer as ReportAnswer,
    ResultsAnswer as ResultsAnswer,
    ResultsInfo as ResultsInfo,
    UnusableResults as UnusableResults,
)
from ellzero.core.schemas.voting import (
    AdversarialChange as AdversarialChange,
    CertificateLook as CertificateLook,
    CertifyAnswer as CertifyAnswer,
    EvidenceKind as EvidenceKind,
    ExactCertificate as ExactCertificate,
    ExactProbability as ExactProbability,
    Example as Example,
    ExamplesAnswer as ExamplesAnswer,
    FeatureChange as FeatureChange,
    InputCertificate as InputCertificate,
    InputPrediction as InputPrediction,
    JobAnswer as JobAnswer,
    JobKind as JobKind,
    JobState as JobState,
    ModelInfo as ModelInfo,
    ModelKind as ModelKind,
    ModelsAnswer as ModelsAnswer,
    NoisyAnswer as NoisyAnswer,
    PredictAnswer as PredictAnswer,
    UnusableModel as UnusableModel,
)
