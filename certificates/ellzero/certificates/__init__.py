"""Exact certificates of ℓ0 robustness: pure functions on exact numbers.

Start with `Discrete`, `thresholds` and `radius`; `votes` and `plan` deal with finite samples; `neyman_pearson` is the
general theory, and `lee2019` the published algorithm. Every result is what exact arithmetic gives, rounded to the safe
side.
"""

from ellzero.core.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
