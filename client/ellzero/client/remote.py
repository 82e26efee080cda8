"""What commands of other parts ask of a service; they find it by the entry points of the group ``ellzero.remote``.

Errors are click's, for the command line to print: exit code 2 for a wrong value, 1 for the rest.
"""

import os
from decimal import Decimal
from typing import Any

import click

from ellzero.client._sync import Client
from ellzero.client.errors import ClientError, InvalidInput, UnsendableValue
from ellzero.core.schemas import RadiusAnswer

_API_KEY = "ELLZERO_API_KEY"
_OPTIONS = {"base_url": "--server", "api_key": _API_KEY}


def radius(server: str, question: dict[str, Any]) -> dict[str, Any]:
    """The answer to ``question``, arguments for `Client.radius` as text or ints, in the words of ``ellzero radius``.

    An API key is taken from the environment only: others can read the command lines of a machine.
    """
    try:
        with Client(server, api_key=os.environ.get(_API_KEY) or None) as client:
            answer: RadiusAnswer = client.radius(**question)
    except InvalidInput as error:
        raise click.UsageError(_with_option(error.detail, error.field)) from error
    except UnsendableValue as error:
        raise click.UsageError(_with_option(str(error), error.field)) from error
    except ClientError as error:
        raise click.ClickException(str(error)) from error
    evidence = {
        name: value for name, value in question.items() if name not in ("k", "alpha", "d") and value is not None
    }
    if "p_b" in evidence:
        return {**evidence, "radius": answer.radius}
    reason = {
        "radius": answer.radius,
        "threshold": _text(answer.threshold),
        "next_threshold": _text(answer.next_threshold),
        "margin": _text(answer.margin),
    }
    if "p" in evidence:
        return {**evidence, **reason}
    low = None if answer.p_lower is None else float(answer.p_lower)
    counts = {"min_count": answer.min_count, "next_min_count": answer.next_min_count}
    return {**evidence, "p_lower": low, **reason, **counts}


def _with_option(message: str, field: str | None) -> str:
    """The message in which the field is called as the user wrote it."""
    if field is None:
        return message
    return message.replace(field, _OPTIONS.get(field, f"--{field.replace('_', '-')}"), 1)


def _text(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:f}"
