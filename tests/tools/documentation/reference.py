"""Reference pages: the Python interface, and checks."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import groupby

import urdf_usd
from tests.tools.documentation.text import escaped, page, table
from urdf_usd.conformance.checks.catalogue import (
    CHECKS,
    ROUND_TRIP_CHECKS,
    SIMULATION_CHECKS,
)
from urdf_usd.conformance.checks.check import Check

_UNITS = {"": "equality", "1": "ratio"}


def python_page() -> str:
    """Return the page of all public names; mkdocstrings fills it from docstrings."""
    names = urdf_usd.__all__
    classes = [name for name in names if inspect.isclass(getattr(urdf_usd, name))]
    functions = [name for name in names if name not in classes]
    return page(
        "# Python",
        "All public names are in the module `urdf_usd`. Each is imported at its first "
        "use: reading a URDF imports neither OpenUSD nor an engine.",
        "## Functions",
        *(f"::: urdf_usd.{name}" for name in functions),
        "## Classes",
        *(f"::: urdf_usd.{name}" for name in classes),
    )


def checks_page() -> str:
    """Return the page of all checks."""
    return page(
        "# Checks",
        "Quantities that are compared, with the identifiers that records, baselines "
        "and reports use. Identifiers are stable and never get another meaning. The "
        "unit is that of differences.",
        *_check_lists((*CHECKS, *SIMULATION_CHECKS)),
        "## round-trip",
        "The USD is exported to URDF again, and the same engine reads both URDFs, so "
        "that its own deviations cancel. The same quantities are compared:",
        table(
            ("check", "repeats"),
            ((f"`{one.id}`", f"`{one.direct}`") for one in ROUND_TRIP_CHECKS),
        ),
    )


def _check_lists(checks: tuple[Check, ...]) -> Iterator[str]:
    for group, own in groupby(checks, lambda check: check.group):
        yield f"## {group}"
        yield "\n\n".join(
            f"`{check.id}`\n:   *{escaped(check.title)}*, "
            f"{_UNITS.get(check.unit, check.unit)}: {escaped(check.clause)}"
            for check in own
        )
