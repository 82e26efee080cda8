"""Descriptions of noises, as results and model files state them. Needs no torch."""

from collections.abc import Mapping
from typing import Any

FAMILIES = ("discrete", "gaussian", "uniform")


def describe_noise(description: Mapping[str, Any]) -> str:
    """A noise in words, from its description."""
    if description["family"] != "discrete":
        name = "sigma" if description["family"] == "gaussian" else "gamma"
        return f"{description['family']} noise, {'σ' if name == 'sigma' else 'γ'} = {description[name]}"
    return f"K = {description['k']}, α = {description['alpha']}, a {description['unit']} counts one"
