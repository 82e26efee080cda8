"""Asking an ellzero service from Python: `Client`, `AsyncClient`, answers and errors; and ``cli``, the root command.

The names are imported when they are first used, so that the root command starts fast and needs no extra. The clients
need ``pip install 'ellzero[client]'``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ellzero.client._async import AsyncClient, AsyncJob
    from ellzero.client._sync import Client, Job
    from ellzero.client.answers import (
        CertifyAnswer,
        CompareAnswer,
        ComparedThreshold,
        Conventions,
        InputCertificate,
        InputPrediction,
        JobAnswer,
        ModelInfo,
        ModelsAnswer,
        PlanAnswer,
        PredictAnswer,
        RadiiAnswer,
        RadiiArray,
        RadiusAnswer,
        TableColumn,
        TablesAnswer,
        ThresholdRow,
        ThresholdsAnswer,
    )
    from ellzero.client.errors import (
        BadReply,
        ClientError,
        InvalidInput,
        JobEnded,
        NotAuthorised,
        Overloaded,
        Problem,
        ProblemReply,
        RequestTimeout,
        ServerFault,
        ServerUnreachable,
        TooCostly,
        UnsendableValue,
    )

__all__ = [
    "AsyncClient",
    "AsyncJob",
    "BadReply",
    "CertifyAnswer",
    "Client",
    "ClientError",
    "CompareAnswer",
    "ComparedThreshold",
    "Conventions",
    "InputCertificate",
    "InputPrediction",
    "InvalidInput",
    "Job",
    "JobAnswer",
    "JobEnded",
    "ModelInfo",
    "ModelsAnswer",
    "NotAuthorised",
    "Overloaded",
    "PlanAnswer",
    "PredictAnswer",
    "Problem",
    "ProblemReply",
    "RadiiAnswer",
    "RadiiArray",
    "RadiusAnswer",
    "RequestTimeout",
    "ServerFault",
    "ServerUnreachable",
    "TableColumn",
    "TablesAnswer",
    "ThresholdRow",
    "ThresholdsAnswer",
    "TooCostly",
    "UnsendableValue",
]

# Where the names live; the first two need nothing but Python.
_MODULES = ("answers", "errors", "_sync", "_async")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for module in _MODULES:
        try:
            found = vars(import_module(f"{__name__}.{module}"))
        except ModuleNotFoundError as missing:
            needs = f"ellzero.client.{name} needs the Python module {missing.name}: pip install 'ellzero[client]'"
            raise ImportError(needs) from missing
        if name in found:
            return found[name]
    raise AttributeError(f"module {__name__!r} has lost {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
