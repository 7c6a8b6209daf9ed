"""Conversion of layered assets to the layout of Isaac Sim's asset transformer.

The interface references ``payloads/base.usda`` with links, shapes and materials, whose
sublayer ``robot.usda`` has the robot schema. Variants of the interface add
``Physics/physics.usda``, or a layer of a simulator over it. Visual meshes are instances
in ``instances.usda`` of ``geometries.usd``; colliders are not, since physics is
authored on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pxr import Sdf

from urdf_usd.converter.usd.writer.bundling import flattened
from urdf_usd.converter.usd.writer.interface import (
    NONE,
    PHYSICS_SET,
    WITH_NEWTON,
    WITH_PHYSICS,
    WITH_PHYSX,
    Arc,
    author_choice,
)
from urdf_usd.converter.usd.writer.layers import (
    EXTENSIONS_LAYER,
    GEOMETRY_LIBRARY,
    ISAAC_BASE,
    MATERIALS_LIBRARY,
    NEWTON_LAYER,
    PAYLOAD,
    PAYLOADS,
    PHYSICS_LAYER,
    PHYSX_LAYER,
    ROBOT_LAYER,
    SIMULATION_LAYER,
    WITHOUT_PHYSICS,
)
from urdf_usd.converter.usd.writer.materials.materials import TEXTURES
from urdf_usd.converter.usd.writer.names import sibling_names
from urdf_usd.converter.usd.writer.specs import apply, define, over, relate

_PHYSICS = "Physics"
_ROBOT, _INSTANCES = "robot.usda", "instances.usda"
_GEOMETRIES, _MATERIALS = "geometries.usd", "materials.usd"
_LIBRARIES = {GEOMETRY_LIBRARY: _GEOMETRIES, MATERIALS_LIBRARY: _MATERIALS}
# Layers of simulators, over that with UsdPhysics and the custom data of the URDF.
_SIMULATORS = {PHYSX_LAYER: "physx.usda", NEWTON_LAYER: "newton.usda"}
_VARIANTS = {
    WITH_PHYSX: "physx.usda",
    WITH_NEWTON: "newton.usda",
    WITH_PHYSICS: "physics.usda",
}
_STAGE_METADATA = ("metersPerUnit", "upAxis", "kilogramsPerUnit", "timeCodesPerSecond")
_ROOT = Sdf.Path("/Instances")


def arrange(layered: Path, interface: str, folder: Path) -> None:
    """Write a layered asset for several simulators in this layout.

    Args:
        layered: Folder of the layered asset; its libraries and textures are moved.
        interface: File name of its interface layer.
        folder: Empty folder for the asset.
    """
    source, target = layered / PAYLOAD, folder / PAYLOADS
    (target / _PHYSICS).mkdir(parents=True)
    _write_base(source, target)
    # Before a stage is opened that composes them.
    for name, new in {**_LIBRARIES, TEXTURES: TEXTURES}.items():
        if (source / name).exists():
            (source / name).rename(target / new)
    names = EXTENSIONS_LAYER, SIMULATION_LAYER, PHYSICS_LAYER
    physics = [source / name for name in names]
    file = target / _PHYSICS / "physics.usda"
    _flattened([path for path in physics if path.is_file()], file).Save()
    for name, simulator in _SIMULATORS.items():
        layer = _copied(source / name, target / _PHYSICS / simulator)
        layer.subLayerPaths = ["./physics.usda"]
        layer.Save()
    _write_interface(layered / interface, folder / interface)


def _copied(source: Path, target: Path) -> Sdf.Layer:
    layer = Sdf.Layer.CreateNew(str(target))
    layer.TransferContent(Sdf.Layer.FindOrOpen(str(source)))
    return layer


def _flattened(sources: list[Path], target: Path) -> Sdf.Layer:
    """Return a layer with the opinions of several, and the metadata of the last one."""
    last = Sdf.Layer.FindOrOpen(str(sources[-1]))
    layer = Sdf.Layer.CreateNew(str(target))
    layer.TransferContent(flattened(sources))
    for key in _STAGE_METADATA:
        layer.pseudoRoot.SetInfo(key, last.pseudoRoot.GetInfo(key))
    layer.defaultPrim = last.defaultPrim
    return layer


def _write_base(source: Path, target: Path) -> None:
    """Write links, shapes and materials, and the instances of visuals."""
    base = _flattened([source / name for name in WITHOUT_PHYSICS], target / ISAAC_BASE)
    instances = Sdf.Layer.CreateNew(str(target / _INSTANCES))
    for key in _STAGE_METADATA:
        instances.pseudoRoot.SetInfo(key, base.pseudoRoot.GetInfo(key))
    define(instances, _ROOT, "Scope")
    instances.defaultPrim = _ROOT.name
    with Sdf.ChangeBlock():
        for prim in list(_prims(base)):
            for reference in list(prim.referenceList.prependedItems):
                library = _LIBRARIES[reference.assetPath.removeprefix("./")]
                moved = Sdf.Reference(f"./{library}", reference.primPath)
                prim.referenceList.ReplaceItemEdits(reference, moved)
    extended = _extended(source)
    made: dict[tuple[object, ...], Sdf.Path] = {}
    for prim in [prim for prim in _prims(base) if _is_visual(prim)]:
        if prim.path not in extended:
            _instantiate(prim, instances, made)
    _copied(source / ROBOT_LAYER, target / _ROBOT).Save()
    base.subLayerPaths = [f"./{_ROBOT}"]
    instances.Save()
    base.Save()


def _is_visual(prim: Sdf.PrimSpec) -> bool:
    purpose = prim.attributes.get("purpose")
    guide = purpose is not None and purpose.default == "guide"
    return bool(prim.typeName == "Mesh" and prim.referenceList.prependedItems) and (not guide)


def _extended(source: Path) -> set[Sdf.Path]:
    """Return the prims below which custom elements are, which instances would hide."""
    if not (source / EXTENSIONS_LAYER).is_file():
        return set()
    layer = Sdf.Layer.FindOrOpen(str(source / EXTENSIONS_LAYER))
    return {prim.path for prim in _prims(layer) if prim.nameChildren}


def _instantiate(
    prim: Sdf.PrimSpec, instances: Sdf.Layer, made: dict[tuple[object, ...], Sdf.Path]
) -> None:
    """Turn a visual mesh into an instance of a prim with that mesh.

    The material of the whole mesh stays on the instance; those of parts are inside.

    Args:
        prim: The mesh, in the layer of links and shapes.
        instances: Layer of the instances.
        made: Instances by mesh and materials; an instance that is new is added.
    """
    (reference,) = prim.referenceList.prependedItems
    bound = {child.name: _target(prim.layer, child) for child in prim.nameChildren.values()}
    key = (reference.primPath, *bound.items())
    name = reference.primPath.name
    if key not in made:
        (free,) = sibling_names([name], [path.name for path in made.values()])
        made[key] = _ROOT.AppendChild(free)
        define(instances, made[key], "Xform")
        mesh = define(instances, made[key].AppendChild(name), "Mesh")
        mesh.referenceList.prependedItems = [reference]
        _bind(instances, mesh, bound)
    for child in list(prim.nameChildren.keys()):
        del prim.nameChildren[child]
    prim.typeName = "Xform"
    prim.instanceable = True
    inside = Sdf.Reference(f"./{_INSTANCES}", made[key])
    prim.referenceList.ReplaceItemEdits(reference, inside)


def _target(base: Sdf.Layer, part: Sdf.PrimSpec) -> Sdf.Reference:
    """Return the reference to the material that is bound to a part of a mesh."""
    binding = part.relationships["material:binding"]
    (path,) = binding.targetPathList.explicitItems
    (reference,) = base.GetPrimAtPath(path).referenceList.prependedItems
    return reference


def _bind(instances: Sdf.Layer, mesh: Sdf.PrimSpec, bound: Mapping[str, Sdf.Reference]) -> None:
    """Bind materials to parts of a mesh inside of its instance."""
    if not bound:
        return
    (scope,) = sibling_names(["VisualMaterials"], [mesh.name])
    place = mesh.path.GetParentPath().AppendChild(scope)
    define(instances, place, "Scope")
    for name, reference in bound.items():
        path = place.AppendChild(reference.primPath.name)
        define(instances, path, "Material").referenceList.prependedItems = [reference]
        part = over(instances, mesh.path.AppendChild(name))
        apply(part, "MaterialBindingAPI")
        relate(part, "material:binding", path)


def _write_interface(source: Path, target: Path) -> None:
    front = Sdf.Layer.FindOrOpen(str(source))
    layer = Sdf.Layer.CreateNew(str(target))
    layer.TransferContent(front)
    prim = layer.GetPrimAtPath(f"/{layer.defaultPrim}")
    for name in list(prim.variantSets.keys()):
        del prim.variantSets[name]
        del prim.variantSelections[name]
    prim.variantSetNameList.ClearEdits()
    base = Sdf.Reference(f"./{PAYLOADS}/{ISAAC_BASE}")
    prim.referenceList.prependedItems = [base]
    choices = {name: (f"./{PAYLOADS}/{_PHYSICS}/{file}",) for name, file in _VARIANTS.items()}
    variants = {**choices, NONE: ()}
    author_choice(prim, PHYSICS_SET, variants, Arc.PAYLOAD)
    layer.Save()


def _prims(layer: Sdf.Layer) -> Iterator[Sdf.PrimSpec]:
    paths: list[Sdf.Path] = []
    layer.Traverse(Sdf.Path.absoluteRootPath, paths.append)
    for path in paths:
        if path.IsPrimPath():
            yield layer.GetPrimAtPath(path)
