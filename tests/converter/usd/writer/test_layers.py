"""Content of each layer of an asset."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Sdf, Usd

from tests.converter.usd.whole_robot import write_whole_robot
from urdf_usd.converter import convert

LIBRARIES = ("GeometryLibrary.usdc", "MaterialsLibrary.usdc")
LAYERS = (
    "Contents.usda",
    "Extensions.usda",
    "Geometry.usda",
    "Materials.usda",
    "NoColliders.usda",
    "Physics.usda",
    *LIBRARIES,
)
ROBOT = Sdf.Path("/whole_robot")


@pytest.fixture(scope="module")
def asset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the whole robot's asset."""
    folder = tmp_path_factory.mktemp("whole")
    convert(write_whole_robot(folder), folder / "usd")
    return folder / "usd"


def _layer(asset: Path, name: str) -> Sdf.Layer:
    return Sdf.Layer.FindOrOpen(str(asset / "payload" / name))


def _prims(layer: Sdf.Layer) -> list[Sdf.PrimSpec]:
    paths: list[Sdf.Path] = []
    layer.Traverse("/", paths.append)
    return [layer.GetPrimAtPath(path) for path in paths if path.IsPrimPath()]


def _schemas(prim: Sdf.PrimSpec) -> list[str]:
    applied = prim.GetInfo("apiSchemas")
    return list(applied.GetAddedOrExplicitItems()) if applied else []


def _properties(layer: Sdf.Layer) -> set[str]:
    return {spec.name for prim in _prims(layer) for spec in prim.properties}


def test_payload_has_all_layers_and_textures(asset: Path) -> None:
    """And the textures of the materials."""
    found = {path.name for path in (asset / "payload").iterdir()}

    assert found == {*LAYERS, "Textures"}


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_states_units_and_default_prim(asset: Path, name: str) -> None:
    """Each can be opened alone, including libraries."""
    stage = Usd.Stage.Open(_layer(asset, name))
    root = stage.GetPseudoRoot()

    assert root.GetMetadata("upAxis") == "Z"
    assert root.GetMetadata("metersPerUnit") == 1.0
    assert root.GetMetadata("kilogramsPerUnit") == 1.0
    assert root.GetMetadata("timeCodesPerSecond") == 1.0
    expected = f"/{name.removesuffix('Library.usdc')}" if name in LIBRARIES else ROBOT
    assert stage.GetDefaultPrim().GetPath() == expected
    assert stage.GetCompositionErrors() == []


def test_contents_has_only_sublayers(asset: Path) -> None:
    """Strongest first."""
    layer = _layer(asset, "Contents.usda")

    assert list(layer.subLayerPaths) == [
        "./Extensions.usda",
        "./Physics.usda",
        "./Materials.usda",
        "./Geometry.usda",
    ]
    assert not layer.rootPrims


@pytest.mark.parametrize("name", ["Geometry.usda", "GeometryLibrary.usdc"])
def test_geometry_layers_have_neither_physics_nor_materials(asset: Path, name: str) -> None:
    """It suits kinematic and visual work on its own."""
    layer = _layer(asset, name)

    assert {schema for prim in _prims(layer) for schema in _schemas(prim)} == set()
    assert not {
        word
        for word in _properties(layer)
        if word.startswith(("physics:", "newton:", "urdf:", "material:binding"))
    }
    kinds = {prim.typeName for prim in _prims(layer)}
    assert kinds <= {"Xform", "Scope", "Mesh", "Cube", "Sphere", "Cylinder"} | {"GeomSubset"}


@pytest.mark.parametrize("name", ["Materials.usda", "MaterialsLibrary.usdc"])
def test_material_layers_have_neither_physics_nor_shapes(asset: Path, name: str) -> None:
    """They bind to what geometry defines."""
    layer = _layer(asset, name)

    assert {s for prim in _prims(layer) for s in _schemas(prim)} <= {"MaterialBindingAPI"}
    defined = {p.typeName for p in _prims(layer) if p.specifier != Sdf.SpecifierOver}
    assert defined <= {"Scope", "Material", "Shader"}
    words = _properties(layer)
    assert all(word.startswith(("material:", "info:", "inputs:", "outputs:")) for word in words)


def test_physics_layer_overrides_prims_of_the_geometry_layer(asset: Path) -> None:
    """Only the scope of joints and the joints are defined."""
    layer = _layer(asset, "Physics.usda")
    scope = ROBOT.AppendChild("Physics")

    for prim in _prims(layer):
        defined = prim.path == scope or prim.path.HasPrefix(scope)
        assert (prim.specifier == Sdf.SpecifierDef) == defined
        assert prim.typeName.startswith("Physics") == (defined and prim.path != scope)
    words = _properties(layer)
    assert all(word.startswith(("drive:", "newton:", "physics:", "urdf:")) for word in words)


def test_no_colliders_layer_only_deactivates_prims(asset: Path) -> None:
    """It authors no other opinion."""
    layer = _layer(asset, "NoColliders.usda")
    for prim in _prims(layer):
        assert prim.specifier == Sdf.SpecifierOver
        assert not prim.properties
        assert set(prim.ListInfoKeys()) <= {"specifier", "active"}
        assert prim.active == bool(prim.nameChildren)


@pytest.mark.parametrize("name", LIBRARIES)
def test_libraries_are_classes(asset: Path, name: str) -> None:
    """They are no content of the robot."""
    layer = _layer(asset, name)
    (root,) = layer.rootPrims

    assert (root.specifier, root.typeName) == (Sdf.SpecifierClass, "Scope")
    assert all(prim.specifier == Sdf.SpecifierDef for prim in root.nameChildren)
