"""Options of commands derive from structs: their defaults, choices, schema."""

from __future__ import annotations

import json
from pathlib import Path

import click
import jsonschema
import pytest

from tests.urdf_usd.cli.command import urdf_usd
from urdf_usd.cli.convert import convert_options
from urdf_usd.cli.main import main
from urdf_usd.cli.options import Conversion, RobotOptions, Sources
from urdf_usd.cli.terminal import SEVERITY_STYLES
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
from urdf_usd.converter.robot.model import BaseOption, MasslessOption
from urdf_usd.reports.records.schema import RECORDS

_RULE = ColliderRule(ColliderKind.HULL, "left_*")


def test_defaults_are_those_of_the_library() -> None:
    assert convert_options(Conversion()) == ConvertOptions()


def test_every_choice_is_passed_to_the_converter() -> None:
    robot = RobotOptions(
        base=BaseOption.FIXED,
        inertia=InertiaOption.GEOMETRY,
        mass_density=2700.0,
        colliders=(_RULE,),
        collider_tolerance=ColliderTolerance(0.01),
        sources=Sources(
            packages=(("arm", Path("folder")),),
            arguments=(("hand", "true"),),
            environment=("NAME",),
        ),
    )
    chosen = Conversion(
        profile=Profile.PHYSX,
        physics_variants=True,
        layout=Layout.USDZ,
        bodies=BodyNesting.FLAT,
        massless=MasslessOption.ERROR,
        materials=MaterialNetworks.OPENPBR,
        merge_fixed=True,
        keep_chains=True,
        robot=robot,
    )

    assert convert_options(chosen) == ConvertOptions(
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
    given = (("author", "me"),)

    chosen = Conversion(profile=Profile.SIMREADY, metadata=given)

    assert convert_options(chosen).metadata == given


def test_tables_cover_their_enumerations() -> None:
    assert list(SEVERITY_STYLES) == [severity.value for severity in Severity]
    (schema,) = (one for one in main.commands["doctor"].params if one.name == "schema")
    assert isinstance(schema.type, click.Choice)
    assert set(schema.type.choices) == {*RECORDS, "description", "defaults"}


@pytest.mark.parametrize(
    ("content", "valid"),
    [
        ({"run": {"out": "report", "fail-on": "close", "jobs": 2, "package": ["a=b"]}}, True),
        ({"convert": {"layout": "usdz", "merge-fixed": True, "mass-density": 900.0}}, True),
        ({"convert": {"layout": "flat"}}, False),
        ({"convert": {"layouts": "usdz"}}, False),
        ({"run": {"package": "a=b"}}, False),
        ({"fly": {}}, False),
    ],
)
def test_schema_describes_the_file_of_defaults(content: dict[str, object], valid: bool) -> None:
    printed = urdf_usd("doctor", "--schema", "defaults")

    schema = json.loads(printed.stdout)
    assert jsonschema.Draft202012Validator(schema).is_valid(content) is valid
