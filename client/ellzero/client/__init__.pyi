from ellzero.client._async import AsyncClient as AsyncClient, AsyncJob as AsyncJob
from ellzero.client._sync import Client as Client, Job as Job
from ellzero.client.errors import (
    BadReply as BadReply,
    ClientError as ClientError,
    JobEnded as JobEnded,
    NotAuthorised as NotAuthorised,
    Overloaded as Overloaded,
    ProblemReply as ProblemReply,
    RejectedInput as RejectedInput,
    RequestTimeout as RequestTimeout,
    ServerFault as ServerFault,
    ServerUnreachable as ServerUnreachable,
    TooCostly as TooCostly,
    UnsendableValue as UnsendableValue,
)
from ellzero.core.conventions import Conventions as Conventions
from ellzero.core.errors import InvalidInput as InvalidInput
from ellzero.core.schemas import (
    AdversarialChange as AdversarialChange,
    CertifyAnswer as CertifyAnswer,
    CompareAnswer as CompareAnswer,
    ComparedThreshold as ComparedThreshold,
    ExactCertificate as ExactCertificate,
    ExactProbability as ExactProbability,
    FeatureChange as FeatureChange,
    InputCertificate as InputCertificate,
    InputPrediction as InputPrediction,
    JobAnswer as JobAnswer,
    ModelInfo as ModelInfo,
    ModelsAnswer as ModelsAnswer,
    PlanAnswer as PlanAnswer,
    PredictAnswer as PredictAnswer,
    Problem as Problem,
    RadiiAnswer as RadiiAnswer,
    RadiiArray as RadiiArray,
    RadiusAnswer as RadiusAnswer,
    TableColumn as TableColumn,
    TablesAnswer as TablesAnswer,
    ThresholdRow as ThresholdRow,
    ThresholdsAnswer as ThresholdsAnswer,
)
