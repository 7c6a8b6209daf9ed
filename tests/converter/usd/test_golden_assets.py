"""The layers of small robots are as stored, in all profiles.

``UPDATE_ASSETS=1 pytest tests/converter/usd/test_golden_assets.py`` writes the stored files;
their changes are part of the change that is reviewed. Of profiles, those layers are stored
that differ from the layers of the default.
"""

from __future__ import annotations

import os
import re
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from pxr import Sdf

from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.options import (
    ColliderRule,
    ColliderRules,
    InertiaOption,
    Layout,
    MaterialNetworks,
)
from urdf_usd.converter.robot.model import BaseOption
from urdf_usd.converter.simulation.settings import load_settings, with_settings

_DATA = Path(__file__).parents[2] / "data/assets"
_METADATA = (("robot_type", "Manipulator"), ("asset_license", "MIT"), ("author", "a"))


def _colliders(*rules: str) -> ColliderRules:
    return ColliderRules(tuple(map(ColliderRule.parse, rules)))


_OPTIONS = {
    "default": ConvertOptions(),
    "fixed": ConvertOptions(base=BaseOption.FIXED, scene=True),
    "variants": ConvertOptions(physics_variants=True),
    "usdphysics": ConvertOptions(profile=Profile.USDPHYSICS),
    "physx": ConvertOptions(profile=Profile.PHYSX),
    "ros": ConvertOptions(profile=Profile.ROS),
    "simready": ConvertOptions(profile=Profile.SIMREADY, metadata=_METADATA),
    "runnables": ConvertOptions(profile=Profile.SIMREADY, physics_variants=True),
    "openpbr": ConvertOptions(materials=MaterialNetworks.OPENPBR),
    "hulls": ConvertOptions(colliders=_colliders("hull")),
    "rules": ConvertOptions(colliders=_colliders("right_*=hull", "left_arm=none", "rihgt=mesh")),
    "no-colliders": ConvertOptions(colliders=_colliders("none")),
    "primitives": ConvertOptions(colliders=_colliders("primitives")),
    "triangles": ConvertOptions(colliders=_colliders("trunk=mesh")),
    "plain-triangles": ConvertOptions(
        profile=Profile.USDPHYSICS, colliders=_colliders("trunk=mesh")
    ),
    "geometry": ConvertOptions(inertia=InertiaOption.GEOMETRY),
    "merged": ConvertOptions(merge_fixed=True),
    "ros-merged": ConvertOptions(profile=Profile.ROS, merge_fixed=True),
    "plain-isaac": ConvertOptions(profile=Profile.ISAAC),
    "floating-isaac": ConvertOptions(profile=Profile.ISAAC, base=BaseOption.FLOATING),
    "isaac": ConvertOptions(profile=Profile.ISAAC, metadata=_METADATA[:2], base=BaseOption.FIXED),
    "single": ConvertOptions(layout=Layout.SINGLE),
    "usdz": ConvertOptions(layout=Layout.USDZ),
}
# All profiles of robots with all features; others for what is special about them.
_EVERY = "default fixed variants usdphysics physx ros simready runnables isaac"
_CASES = {
    "whole": f"{_EVERY} single usdz",
    "joints": _EVERY,
    "two": _EVERY,
    # Absent, zero, negative and extreme numbers; equal limits; couplings of all types.
    "numbers": "default physx variants usdphysics",
    # Order of links and joints of Isaac Sim, and its sites.
    "tree": "default floating-isaac isaac",
    "held-tree": "default plain-isaac",
    "drone": "default plain-isaac",
    # Colliders of several groups, mirrored and concave; vertex colours; sizes beyond float32.
    "shapes": "default ros",
    # Mass and inertia that are absent, zero or impossible, with shapes of all kinds.
    "estimates": "default geometry",
    "weightless": "default geometry",
    # Equal files have one prim; files that refer to others only within one folder.
    "copies": "default",
    "merged": "default merged ros-merged",
    "colliders": "default hulls rules no-colliders primitives triangles plain-triangles",
    # Materials of the URDF and of mesh files; textures of equal names, damaged, absent, and
    # on surfaces without texture coordinates; images in glTF; colours of corners.
    "looks": "default openpbr",
    # Everywhere attributes, elements and text that are not URDF.
    "beyond": "default",
}
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")


def _layers(folder: Path, robot: str, options: str) -> dict[str, str]:
    """Return the diagnostics, the text of all layers, and the names of other files."""
    chosen = _OPTIONS[options]
    if robot == "two":
        chosen = with_settings(chosen, load_settings(_DATA / "two.toml"))
    conversion = convert(_DATA / f"{robot}.urdf", folder / options, chosen)
    root = conversion.root_layer
    notes = (
        f"{note.location.line if note.location else 0} {note.rule} {note.message}\n"
        for note in conversion.diagnostics
    )
    layers = {
        file.relative_to(root.parent).as_posix(): (
            Sdf.Layer.FindOrOpen(str(file)).ExportToString()
            if ".usd" in file.suffix
            # The last pixels of a thumbnail depend on the machine.
            else ""
            if ".thumbs" in file.parts
            else f"{file.read_bytes()!r}\n"
        )
        for file in sorted(root.parent.rglob("*"))
        if file.is_file()
    }
    return {"diagnostics": "".join(notes)} | layers


@cache
def _default_layers(robot: str) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        return _layers(Path(folder), robot, "default")


def _stored(layers: dict[str, str], default: dict[str, str]) -> str:
    texts = []
    for name, text in layers.items():
        same = "as in the default\n" if name in default and default[name] == text else text
        texts.append(f"==== {name}\n{same}")
    return "".join(texts)


@pytest.mark.parametrize(
    ("robot", "options"), [(robot, one) for robot, given in _CASES.items() for one in given.split()]
)
def test_asset_is_as_stored(
    robot: str, options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text to the letter, numbers to six digits: the last ones depend on the machine."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    default = {} if options == "default" else _default_layers(robot)
    current = _stored(_layers(tmp_path, robot, options), default)
    file = _DATA / f"{robot}.{options}.txt"
    if os.environ.get("UPDATE_ASSETS"):
        file.write_text(current, encoding="utf-8")
    expected = file.read_text("utf-8")

    assert _NUMBER.sub("#", current).splitlines() == _NUMBER.sub("#", expected).splitlines()
    actual, desired = (np.array(_NUMBER.findall(text), float) for text in (current, expected))
    np.testing.assert_allclose(actual, desired, rtol=1e-6, atol=1e-15)
