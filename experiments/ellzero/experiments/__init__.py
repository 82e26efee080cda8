"""The paper's results, reproduced: an experiment writes a folder that says what was computed, from what, and where.

`ExperimentFolder` is such a folder, `ResultTable` a table in it, with the paper's figures beside ours.
"""

from ellzero.core.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__, extra="tables")
