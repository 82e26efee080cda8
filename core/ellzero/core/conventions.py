"""What K, α and r mean, and all default values: defined once, and repeated wherever a result is shown."""

from dataclasses import asdict, dataclass
from typing import Final

DEFAULT_FAILURE: Final = "0.001"
"""The largest probability that a certificate is false."""
DEFAULT_POWER: Final = "0.9"
"""The probability with which a planned number of votes certifies the input it was planned for."""
DEFAULT_N0: Final = 100
"""Votes that choose the class."""
DEFAULT_N: Final = 100_000
"""Votes that certify it."""
DEFAULT_PREDICT_N: Final = 1_000
"""Votes of a prediction without a certificate."""
DEFAULT_ERROR: Final = "0.1"
"""The largest probability that a conformal set misses the true class."""
DEFAULT_SET_N: Final = 1_000
"""Votes on an input to calibrate conformal sets, and to predict one."""


@dataclass(frozen=True)
class Conventions:
    """What K, α and r mean. Conventions differ between papers, so every answer, table and plot states its own."""

    k: str = "number of categories minus one"
    alpha: str = "total probability of staying"
    r: str = "at most r coordinates changed"


@dataclass(frozen=True)
class BudgetConventions:
    """What budgets and thresholds mean where a noise is any family: the same in every answer about budgets."""

    budget: str = "at most so many changes of each kind; what is not named is 0"
    threshold: str = "p certifies a budget iff p exceeds its threshold, which is rounded up"
    k: str = "number of categories minus one"
    alpha: str = "total probability of staying"


CONVENTIONS: Final = Conventions()
BUDGET_CONVENTIONS: Final = BudgetConventions()
CONVENTIONS_DICT: Final[dict[str, str]] = asdict(CONVENTIONS)
"""The same for JSON."""
