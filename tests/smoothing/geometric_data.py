"""PyTorch Geometric, which tests import and the product does not."""

import warnings
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its import compiles a class by a deprecated function of torch
    from torch_geometric.data import Data
    from torch_geometric.nn import GCNConv as GCNConv


def make_data(**fields: Any) -> Any:
    """A graph as PyTorch Geometric has it."""
    return Data(**fields)
