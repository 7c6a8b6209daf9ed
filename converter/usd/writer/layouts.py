"""Other layouts of a layered asset: one layer, a USDZ package, and that of Isaac Sim.

One layer contains the libraries as classes with internal references, so that each
surface is stored once, and both variant sets with the opinions of their layers. The
package contains that layer and the textures.

In the layout of Isaac Sim's asset transformer the interface references
``payloads/base.usda`` with links, shapes and materials, whose sublayer ``robot.usda``
has the robot schema. Variants of the interface add ``Physics/physics.usda``, or a layer
of a simulator over it. Visual meshes are instances in ``instances.usda`` of
``geometries.usd``; colliders are not, since physics is authored on them.
"""

from __future__ import annotations

import errno
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pxr import Sdf, Usd, UsdUtils

from urdf_usd.converter.options import Layout
from urdf_usd.converter.usd.writer.asset import (
    COLLIDERS_SET,
    EXTENSIONS_LAYER,
    GEOMETRY_LIBRARY,
    MATERIALS_LIBRARY,
    MUJOCO_LAYER,
    NEWTON_LAYER,
    NO_COLLIDERS_LAYER,
    NONE,
    PAYLOAD,
    PHYSICS_LAYER,
    PHYSICS_SET,
    PHYSX_LAYER,
    ROBOT_LAYER,
    SIMULATION_LAYER,
    WITH_MUJOCO,
    WITH_NEWTON,
    WITH_PHYSICS,
    WITH_PHYSX,
    WITHOUT_PHYSICS,
    Arc,
    author_choice,
)
from urdf_usd.converter.usd.writer.materials import TEXTURES
from urdf_usd.converter.usd.writer.prims import sibling_names
from urdf_usd.converter.usd.writer.specs import apply, define, over, prim_specs, relate

_ROOT = Sdf.Path.absoluteRootPath
_MERGED_PHYSICS = (EXTENSIONS_LAYER, SIMULATION_LAYER, PHYSICS_LAYER)
# Layers of each variant, strongest first. An asset for one simulator has no variants
# with the names of simulators.
_MERGED_VARIANTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (PHYSICS_SET, WITH_NEWTON, (NEWTON_LAYER, *_MERGED_PHYSICS)),
    (PHYSICS_SET, WITH_PHYSX, (PHYSX_LAYER, *_MERGED_PHYSICS)),
    (PHYSICS_SET, WITH_MUJOCO, (MUJOCO_LAYER, *_MERGED_PHYSICS)),
    (PHYSICS_SET, WITH_PHYSICS, _MERGED_PHYSICS),
    (PHYSICS_SET, NONE, ()),
    (COLLIDERS_SET, NONE, (NO_COLLIDERS_LAYER,)),
)
# Each library, and the name of its class.
_CLASSES = (
    (GEOMETRY_LIBRARY, "GeometryLibrary"),
    (MATERIALS_LIBRARY, "MaterialsLibrary"),
)

# Folder of the layers in the profile of Isaac Sim, and its files besides textures.
PAYLOADS = "payloads"
_BASE = "base.usda"
_PHYSICS_FOLDER = "Physics"
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
ISAAC_FILES = frozenset(
    {
        *(_BASE, _ROBOT, _INSTANCES, _GEOMETRIES, _MATERIALS),
        *(f"{_PHYSICS_FOLDER}/{name}" for name in _VARIANTS.values()),
    }
)
_STAGE_METADATA = ("metersPerUnit", "upAxis", "kilogramsPerUnit", "timeCodesPerSecond")
_INSTANCES_ROOT = Sdf.Path("/Instances")

# USDZ: alignment of files; sizes of the header that precedes each file, without its
# name and extra field, and of the header within the extra field.
_ALIGNMENT = 64
_LOCAL_HEADER, _EXTRA_HEADER = 30, 4
# Marks the extra field as padding, as OpenUSD's writer does.
_PADDING = 0x1986
# The earliest time that an archive can state.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_READABLE = 0o100644 << 16


def bundle(layered: Path, interface: str, folder: Path, layout: Layout) -> None:
    """Write a layered asset in another layout.

    Args:
        layered: Folder of the layered asset; its textures are moved.
        interface: File name of its interface layer.
        folder: Empty folder for the asset.
        layout: Not layered.

    Raises:
        OSError: The asset cannot be written.
    """
    file = (folder / interface).with_suffix(Layout.SINGLE.suffix)
    _write_merged(layered, interface, file)
    textures = folder / TEXTURES
    if (layered / PAYLOAD / TEXTURES).is_dir():
        (layered / PAYLOAD / TEXTURES).rename(textures)
    if layout is Layout.USDZ:
        files = (file, *sorted(textures.glob("*")))
        write_package(file.with_suffix(layout.suffix), folder, files)
        for packed in files:
            packed.unlink()
        if textures.is_dir():
            textures.rmdir()


def _write_merged(layered: Path, interface: str, file: Path) -> None:
    """Write all layers of an asset as one."""
    payload = layered / PAYLOAD
    front = Sdf.Layer.FindOrOpen(str(layered / interface))
    robot = _ROOT.AppendChild(front.defaultPrim)
    merged = Sdf.Layer.CreateAnonymous()
    for key in sorted(front.pseudoRoot.ListInfoKeys()):
        merged.pseudoRoot.SetInfo(key, front.pseudoRoot.GetInfo(key))
    Sdf.CopySpec(front, robot, merged, robot)
    identifier = Sdf.AssetPath(f"./{file.name}")
    merged.GetPrimAtPath(robot).assetInfo["identifier"] = identifier
    visuals = flattened([payload / name for name in WITHOUT_PHYSICS])
    for child in visuals.GetPrimAtPath(robot).nameChildren:
        Sdf.CopySpec(visuals, child.path, merged, child.path)
    for choice, variant, names in _MERGED_VARIANTS:
        path = robot.AppendVariantSelection(choice, variant)
        if merged.GetPrimAtPath(path) is None:
            continue
        merged.GetPrimAtPath(path).payloadList.ClearEdits()
        layers = [payload / name for name in names if (payload / name).is_file()]
        if layers:
            Sdf.CopySpec(flattened(layers), robot, merged, path)
    names = sibling_names((name for _, name in _CLASSES), (robot.name,))
    for (library, _), name in zip(_CLASSES, names, strict=True):
        source = Sdf.Layer.FindOrOpen(str(payload / library))
        origin, root = _ROOT.AppendChild(source.defaultPrim), _ROOT.AppendChild(name)
        Sdf.CopySpec(source, origin, merged, root)
        _refer_inside(merged, f"./{library}", origin, root)
    _keep_order(Usd.Stage.Open(front), Usd.Stage.Open(merged))
    _write_ordered(merged, file)


def _write_ordered(layer: Sdf.Layer, file: Path) -> None:
    """Write a crate layer, with specs in the order of the prims.

    A crate file has specs in the order in which they were made. Exporting a text layer
    to crate orders them by memory address, and so does Sdf.CopySpec of usd-core 26.8
    with the kinds of children of a prim.
    """
    written = Sdf.Layer.CreateNew(str(file))
    # No recursion: chains of links can be deeper than Python's stack.
    pairs = [(layer.pseudoRoot, written.pseudoRoot)]
    while pairs:
        source, target = pairs.pop()
        for key in sorted(source.ListInfoKeys()):
            target.SetInfo(key, source.GetInfo(key))
        for own in source.properties:
            Sdf.CopySpec(layer, own.path, written, own.path)
        inside = []
        for name, variants in source.variantSets.items():
            copied = Sdf.VariantSetSpec(target, name)
            for one in variants.variantList:
                variant = Sdf.VariantSpec(copied, one.name)
                inside.append((one.primSpec, variant.primSpec))
        for child in source.nameChildren:
            kind = child.specifier, child.typeName
            inside.append((child, Sdf.PrimSpec(target, child.name, *kind)))
        pairs.extend(reversed(inside))
    written.Save()


def flattened(layers: Iterable[Path]) -> Sdf.Layer:
    """Return an anonymous layer of several, strongest first; asset paths stay as they are."""
    stack = Sdf.Layer.CreateAnonymous()
    stack.subLayerPaths = [str(layer) for layer in layers]
    stage = Usd.Stage.Open(stack, Usd.Stage.LoadNone)
    return UsdUtils.FlattenLayerStack(stage, lambda _, path: path)


def _refer_inside(layer: Sdf.Layer, asset: str, origin: Sdf.Path, root: Sdf.Path) -> None:
    """Replace references to a library by internal references."""
    for prim in prim_specs(layer):
        references = prim.referenceList
        for reference in list(references.prependedItems):
            if reference.assetPath == asset:
                target = reference.primPath.ReplacePrefix(origin, root)
                inside = Sdf.Reference("", target)
                references.ReplaceItemEdits(reference, inside)


def _keep_order(source: Usd.Stage, target: Usd.Stage) -> None:
    """Reorder children as on another stage.

    Children in variants are weaker and would be listed first, and simulators number
    joints in stage order.
    """
    for prim in Usd.PrimRange(source.GetDefaultPrim()):
        same = target.GetPrimAtPath(prim.GetPath())
        names = prim.GetAllChildrenNames()
        if same.GetAllChildrenNames() != names:
            same.SetChildrenReorder(names)


def write_package(package: Path, folder: Path, files: Sequence[Path]) -> None:
    """Write a USDZ package.

    Args:
        package: File to write.
        folder: Folder whose files are packed; paths in the package are relative to it.
        files: The root layer, then the others.

    Raises:
        OSError: A file cannot be read, or the package not be written; or it would be
            too large for some readers of zip archives.
    """
    start = 0
    try:
        with zipfile.ZipFile(package, "w", allowZip64=False) as archive:
            for file in files:
                name, content = file.relative_to(folder).as_posix(), file.read_bytes()
                member = zipfile.ZipInfo(name, _NO_TIME)
                member.create_system, member.external_attr = _UNIX, _READABLE
                start += _LOCAL_HEADER + len(name.encode()) + _EXTRA_HEADER
                padding = -start % _ALIGNMENT
                header = _PADDING.to_bytes(2, "little") + padding.to_bytes(2, "little")
                member.extra = header + bytes(padding)
                archive.writestr(member, content)
                start += padding + len(content)
    except zipfile.LargeZipFile as error:
        message = "a package may not exceed 2 GiB; choose another layout"
        raise OSError(errno.EFBIG, message, str(package)) from error


def arrange(layered: Path, interface: str, folder: Path) -> None:
    """Write a layered asset for several simulators in this layout.

    Args:
        layered: Folder of the layered asset; its libraries and textures are moved.
        interface: File name of its interface layer.
        folder: Empty folder for the asset.
    """
    source, target = layered / PAYLOAD, folder / PAYLOADS
    (target / _PHYSICS_FOLDER).mkdir(parents=True)
    _write_base(source, target)
    # Before a stage is opened that composes them.
    for name, new in {**_LIBRARIES, TEXTURES: TEXTURES}.items():
        if (source / name).exists():
            (source / name).rename(target / new)
    names = EXTENSIONS_LAYER, SIMULATION_LAYER, PHYSICS_LAYER
    physics = [source / name for name in names]
    file = target / _PHYSICS_FOLDER / "physics.usda"
    _flattened([path for path in physics if path.is_file()], file).Save()
    for name, simulator in _SIMULATORS.items():
        layer = _copied(source / name, target / _PHYSICS_FOLDER / simulator)
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
    base = _flattened([source / name for name in WITHOUT_PHYSICS], target / _BASE)
    instances = Sdf.Layer.CreateNew(str(target / _INSTANCES))
    for key in _STAGE_METADATA:
        instances.pseudoRoot.SetInfo(key, base.pseudoRoot.GetInfo(key))
    define(instances, _INSTANCES_ROOT, "Scope")
    instances.defaultPrim = _INSTANCES_ROOT.name
    with Sdf.ChangeBlock():
        for prim in list(prim_specs(base)):
            for reference in list(prim.referenceList.prependedItems):
                library = _LIBRARIES[reference.assetPath.removeprefix("./")]
                moved = Sdf.Reference(f"./{library}", reference.primPath)
                prim.referenceList.ReplaceItemEdits(reference, moved)
    extended = _extended(source)
    made: dict[tuple[object, ...], Sdf.Path] = {}
    for prim in [prim for prim in prim_specs(base) if _is_visual(prim)]:
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
    return {prim.path for prim in prim_specs(layer) if prim.nameChildren}


def _instantiate(
    prim: Sdf.PrimSpec, instances: Sdf.Layer, made: dict[tuple[object, ...], Sdf.Path]
) -> None:
    """Turn a visual mesh into an instance of a prim with that mesh.

    The material of the whole mesh stays on the instance; those of parts are inside.
    ``made`` has the instances by mesh and materials.
    """
    (reference,) = prim.referenceList.prependedItems
    bound = {child.name: _target(prim.layer, child) for child in prim.nameChildren.values()}
    key = (reference.primPath, *bound.items())
    name = reference.primPath.name
    if key not in made:
        (free,) = sibling_names([name], [path.name for path in made.values()])
        made[key] = _INSTANCES_ROOT.AppendChild(free)
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
    base = Sdf.Reference(f"./{PAYLOADS}/{_BASE}")
    prim.referenceList.prependedItems = [base]
    choices = {
        name: (f"./{PAYLOADS}/{_PHYSICS_FOLDER}/{file}",) for name, file in _VARIANTS.items()
    }
    variants = {**choices, NONE: ()}
    author_choice(prim, PHYSICS_SET, variants, Arc.PAYLOAD)
    layer.Save()
