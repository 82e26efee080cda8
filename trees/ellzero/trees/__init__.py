"""Certificates that know the classifier: smoothed trees and forests on bits, exactly. Needs ``ellzero[trees]``."""

from ellzero.core.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__, extra="trees")
