"""Tables of thresholds: what they are, where they lie, and certified radii looked up in them.

Start with `LocalClient`, or with `bundled_index` (the table that ships) and `ThresholdIndex.open`; `Table` is the
store behind them. A lookup gives what exact arithmetic gives, whatever the table lacks.
"""

from ellzero.core.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__, extra="tables")
