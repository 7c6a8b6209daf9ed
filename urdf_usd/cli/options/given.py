"""Options of the running command, to repeat it."""

from __future__ import annotations

from collections.abc import Container

import click
from click.core import ParameterSource

# Options of pairs, and what is between the two.
_PAIRS = {"packages": "=", "metadata": "=", "arguments": ":="}


def given_options(without: Container[str]) -> list[str]:
    """Return the options that the user stated, not quoted.

    Those of a file of defaults count as well: they change results.

    Args:
        without: Names of parameters to leave out.
    """
    context = click.get_current_context()
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in without or not isinstance(parameter, click.Option):
            continue
        if context.get_parameter_source(name) is ParameterSource.DEFAULT:
            continue
        value, option = context.params[name], parameter.opts[0]
        if value is True:
            words.append(option)
        elif name in _PAIRS:
            words += [w for p in value for w in (option, _PAIRS[name].join(map(str, p)))]
        elif value is not None and value is not False:
            several = value if parameter.multiple else (value,)
            words += [word for one in several for word in (option, str(one))]
    return words
