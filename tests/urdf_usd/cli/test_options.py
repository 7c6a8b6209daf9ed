"""Options of commands derive from structs: their defaults, choices, schema."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import click
import jsonschema
import pytest

from tests.urdf_usd.cli.command import urdf_usd
from urdf_usd.cli import parameters
from urdf_usd.cli.commands import Convert
from urdf_usd.cli.main import main
from urdf_usd.cli.parameters import Command, click_command
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
    command_words,
)
from urdf_usd.converter.robot.model import BaseOption, MasslessOption
from urdf_usd.reports.records.schema import RECORDS

_RULE = ColliderRule(ColliderKind.HULL, "left_*")


def _gathered(*words: str) -> ConvertOptions:
    """Return the options of a conversion as the command receives them."""
    seen: list[Convert] = []
    command = click_command("convert", Command(Convert, "x:y"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parameters, "import_module", lambda _: SimpleNamespace(y=seen.append))
        command.main(("arm.urdf", "out", *words), standalone_mode=False)
    return seen[0].conversion


def test_defaults_are_those_of_the_library() -> None:
    assert _gathered() == ConvertOptions()


def test_every_choice_is_passed_to_the_converter(tmp_path: Path) -> None:
    options = ConvertOptions(
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
        packages=(("arm", str(tmp_path)),),
        arguments=(("hand", "true"),),
        environment=("NAME",),
    )

    assert _gathered(*command_words(options)) == options
    simready = ConvertOptions(profile=Profile.SIMREADY, metadata=(("author", "me"),))
    assert _gathered(*command_words(simready)) == simready


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
