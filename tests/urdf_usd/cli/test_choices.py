"""Values of command-line options match the enumerations that they stand for."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from pathlib import Path

import click
import pytest

from urdf_usd.cli.commands import lint, schema
from urdf_usd.cli.main import main
from urdf_usd.cli.options import conversion, parameters
from urdf_usd.cli.output import console
from urdf_usd.conformance.gate.decision import FailOn
from urdf_usd.converter.diagnostics.rules import Severity
from urdf_usd.converter.options import (
    BodyNesting,
    ColliderKind,
    ColliderRule,
    ColliderRules,
    ColliderTolerance,
    ConvertOptions,
    InertiaOption,
    Layout,
    MaterialNetworks,
    Profile,
)
from urdf_usd.converter.robot.body_options import BaseOption, MasslessOption
from urdf_usd.converter.usd.profiles import ROBOT_TYPE, isaac
from urdf_usd.converter.usd.profiles.simready import METADATA
from urdf_usd.reports.records.schema import RECORDS

_RULE = ColliderRule(ColliderKind.HULL, "left_*")


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (conversion.PROFILES, Profile),
        (conversion.LAYOUTS, Layout),
        (conversion.NESTINGS, BodyNesting),
        (conversion.MASSLESS, MasslessOption),
        (conversion.MATERIALS, MaterialNetworks),
        (parameters.BASES, BaseOption),
        (parameters.INERTIAS, InertiaOption),
        (parameters.FAIL_ON, FailOn),
        (lint.SEVERITIES, Severity),
        (tuple(console.SEVERITY_STYLES), Severity),
    ],
)
def test_values_of_an_option_are_those_of_its_enumeration(
    words: Collection[str], values: type[StrEnum]
) -> None:
    """In the same order."""
    assert tuple(words) == tuple(value.value for value in values)


def test_every_record_has_a_schema_to_print() -> None:
    """The command offers the same records as the schema module."""
    assert set(schema.RECORDS) == set(RECORDS)


def test_defaults_are_those_of_the_library() -> None:
    """`convert` without options equals `ConvertOptions()`."""
    context = click.Context(main)
    command = main.get_command(context, "convert")
    assert command is not None
    defaults = {one.name: one.get_default(context) for one in command.params}

    chosen = conversion.ConversionChoices(
        profile=str(defaults["profile"]),
        physics_variants=bool(defaults["physics_variants"]),
        layout=str(defaults["layout"]),
        bodies=None,
        base=str(defaults["base"]),
        massless=str(defaults["massless"]),
        inertia=str(defaults["inertia"]),
        mass_density=float(str(defaults["mass_density"])),
        colliders=(),
        collider_tolerance=ColliderTolerance.parse(str(defaults["collider_tolerance"])),
        materials=str(defaults["materials"]),
        merge_fixed=bool(defaults["merge_fixed"]),
        keep_chains=bool(defaults["keep_chains"]),
        packages=(),
        arguments=(),
        environment=(),
        metadata=(),
        description=None,
    )

    assert chosen.options() == ConvertOptions()


def test_every_choice_is_passed_to_the_converter() -> None:
    """Each field has its own option."""
    chosen = conversion.ConversionChoices(
        profile="physx",
        physics_variants=True,
        layout="usdz",
        bodies="flat",
        base="fixed",
        massless="error",
        inertia="geometry",
        mass_density=2700.0,
        colliders=(_RULE,),
        collider_tolerance=ColliderTolerance(0.01),
        materials="openpbr",
        merge_fixed=True,
        keep_chains=True,
        packages=(("arm", Path("folder")),),
        arguments=(("hand", "true"),),
        environment=("NAME",),
        metadata=(),
        description=None,
    )

    assert chosen.options() == ConvertOptions(
        profile=Profile.PHYSX,
        physics_variants=True,
        layout=Layout.USDZ,
        bodies=BodyNesting.FLAT,
        base=BaseOption.FIXED,
        massless=MasslessOption.ERROR,
        inertia=InertiaOption.GEOMETRY,
        mass_density=2700.0,
        colliders=ColliderRules((_RULE,), ColliderTolerance(0.01)),
        materials=MaterialNetworks.OPENPBR,
        merge_fixed=True,
        keep_chains=True,
        packages=(("arm", "folder"),),
        arguments=(("hand", "true"),),
        environment=("NAME",),
    )


def test_metadata_is_passed_to_the_converter() -> None:
    """Its names are those that the profile writes."""
    given = (("author", "me"),)
    chosen = conversion.ConversionChoices(
        profile="simready",
        physics_variants=False,
        layout="layered",
        bodies=None,
        base="auto",
        massless="regularise",
        inertia="keep",
        mass_density=1000.0,
        colliders=(),
        collider_tolerance=ColliderTolerance(),
        materials="preview",
        merge_fixed=False,
        keep_chains=False,
        packages=(),
        arguments=(),
        environment=(),
        metadata=given,
        description=None,
    )

    assert chosen.options().metadata == given
    assert parameters.METADATA == METADATA
    assert parameters.ISAAC_METADATA == (ROBOT_TYPE, isaac.LICENSE)
    assert parameters.ROBOT_TYPES == isaac.ROBOT_TYPES
