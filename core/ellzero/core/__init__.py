"""What all rooms share: exact numbers, errors, conventions, evidence, schemas, storage, execution, progress.

Nothing here is heavy: an error class loads neither torch nor Ray.
"""

from importlib.metadata import version

from ellzero.core.lazy import attach_stub

__version__ = version("ellzero")

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
