"""Options of commands derive from structs; their default values in files."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import click
import jsonschema
import pytest

from tests.robots import ROBOT
from tests.urdf_usd.cli.command import urdf_usd
from urdf_usd.cli import parameters
from urdf_usd.cli.parameters import click_command
from urdf_usd.cli.program import Convert, main
from urdf_usd.cli.terminal import SEVERITY_STYLES
from urdf_usd.converter import options as o
from urdf_usd.converter.diagnostics import Severity
from urdf_usd.converter.robot.model import BaseOption, MasslessOption
from urdf_usd.reports.records.schema import RECORDS

_RULE = o.ColliderRule(o.ColliderKind.HULL, "left_*")


def _gathered(*words: str) -> o.ConvertOptions:
    """Return the options of a conversion as the command receives them."""
    seen: list[Convert] = []
    command = click_command("convert", Convert, "x:y")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parameters, "import_module", lambda _: SimpleNamespace(y=seen.append))
        command.main(("arm.urdf", "out", *words), standalone_mode=False)
    return seen[0].conversion


def test_defaults_are_those_of_the_library() -> None:
    assert _gathered() == o.ConvertOptions()


def test_every_choice_is_passed_to_the_converter(tmp_path: Path) -> None:
    options = o.ConvertOptions(
        profile=o.Profile.PHYSX,
        physics_variants=True,
        layout=o.Layout.USDZ,
        bodies=o.BodyNesting.FLAT,
        base=BaseOption.FIXED,
        massless=MasslessOption.ERROR,
        inertia=o.InertiaOption.GEOMETRY,
        mass_density=2700.0,
        colliders=o.ColliderRules((_RULE,), "0.01"),
        materials=o.MaterialNetworks.OPENPBR,
        merge_fixed=True,
        keep_chains=True,
        packages=(("arm", str(tmp_path)),),
        arguments=(("hand", "true"),),
        environment=("NAME",),
    )

    assert _gathered(*o.command_words(options)) == options
    simready = o.ConvertOptions(profile=o.Profile.SIMREADY, metadata=(("author", "me"),))
    assert _gathered(*o.command_words(simready)) == simready


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


_SINGLE = 'convert]\nlayout = "single"\n'


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    mesh = '<mesh filename="package://arm/part.stl"/>'
    (tmp_path / "arm.urdf").write_text(ROBOT.replace('<box size="1 2 3"/>', mesh))
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")


@pytest.mark.parametrize(
    ("name", "prefix"), [("urdf-usd.toml", "["), ("pyproject.toml", "[tool.urdf-usd.")]
)
def test_files_state_default_values(name: str, prefix: str) -> None:
    Path("..", name).write_text(prefix + _SINGLE)

    assert urdf_usd("convert", "../arm.urdf", "a").stdout == "a/arm.usdc\n"
    given = urdf_usd("convert", "../arm.urdf", "b", "--layout", "usdz")
    assert given.stdout == "b/arm.usdz\n"
    isolated = urdf_usd("--isolated", "convert", "../arm.urdf", "c")
    assert isolated.stdout == "c/arm.usda\n"


def test_paths_are_relative_to_the_file() -> None:
    Path("../meshes").mkdir()
    Path("../meshes/part.stl").write_text(
        "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n"
        "vertex 0 1 0\nendloop\nendfacet\nendsolid s\n"
    )
    Path("../urdf-usd.toml").write_text('[convert]\npackage = ["arm=meshes"]\n')

    found = urdf_usd("convert", "../arm.urdf", "out")
    isolated = urdf_usd("--isolated", "convert", "../arm.urdf", "out")

    assert "mesh-missing" not in found.stderr
    assert "mesh-missing" in isolated.stderr


def test_files_above_the_repository_are_not_read() -> None:
    Path("../urdf-usd.toml").write_text("[" + _SINGLE)
    Path(".git").mkdir()

    assert urdf_usd("convert", "../arm.urdf", "out").stdout == "out/arm.usda\n"
