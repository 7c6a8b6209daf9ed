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
    author_choice,
    write_units,
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
    (COLLIDERS_SET, NONE, (NO_COLLIDERS_LAYER,)),
)
# Each library, and the name of its class.
_CLASSES = {GEOMETRY_LIBRARY: "GeometryLibrary", MATERIALS_LIBRARY: "MaterialsLibrary"}

# Folder of the layers in the profile of Isaac Sim, and its files besides textures.
PAYLOADS = "payloads"
_BASE, _ROBOT, _INSTANCES = "base.usda", "robot.usda", "instances.usda"
_LIBRARIES = {GEOMETRY_LIBRARY: "geometries.usd", MATERIALS_LIBRARY: "materials.usd"}
# Layers of variants; those of simulators are over that with UsdPhysics and the custom
# data of the URDF.
_VARIANTS = {
    WITH_PHYSX: "Physics/physx.usda",
    WITH_NEWTON: "Physics/newton.usda",
    WITH_PHYSICS: "Physics/physics.usda",
}
ISAAC_FILES = frozenset({_BASE, _ROBOT, _INSTANCES, *_LIBRARIES.values(), *_VARIANTS.values()})
_INSTANCES_ROOT = Sdf.Path("/Instances")

# USDZ: alignment of files; sizes of the header that precedes each file, without its
# name and extra field, and of the header within the extra field.
_ALIGNMENT, _LOCAL_HEADER, _EXTRA_HEADER = 64, 30, 4
# Marks the extra field as padding, as OpenUSD's writer does.
_PADDING = 0x1986
# The earliest time that an archive can state.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX, _READABLE = 3, 0o100644 << 16


def bundle(layered: Path, interface: str, folder: Path, layout: Layout) -> None:
    """Write a layered asset as one layer, or a package.

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
    visuals = _flattened(payload / name for name in WITHOUT_PHYSICS)
    for child in visuals.GetPrimAtPath(robot).nameChildren:
        Sdf.CopySpec(visuals, child.path, merged, child.path)
    for choice in merged.GetPrimAtPath(robot).variantSets.values():
        for variant in choice.variantList:
            variant.primSpec.payloadList.ClearEdits()
    for choice, variant, names in _MERGED_VARIANTS:
        path = robot.AppendVariantSelection(choice, variant)
        layers = [payload / name for name in names if (payload / name).is_file()]
        if layers and merged.GetPrimAtPath(path) is not None:
            Sdf.CopySpec(_flattened(layers), robot, merged, path)
    classes = sibling_names(_CLASSES.values(), (robot.name,))
    for library, name in zip(_CLASSES, classes, strict=True):
        source = Sdf.Layer.FindOrOpen(str(payload / library))
        origin, root = _ROOT.AppendChild(source.defaultPrim), _ROOT.AppendChild(name)
        Sdf.CopySpec(source, origin, merged, root)
        for prim in prim_specs(merged):
            for reference in list(prim.referenceList.prependedItems):
                if reference.assetPath == f"./{library}":
                    inside = Sdf.Reference("", reference.primPath.ReplacePrefix(origin, root))
                    prim.referenceList.ReplaceItemEdits(reference, inside)
    # Children in variants are weaker and would be listed first, and simulators number
    # joints in stage order.
    before, after = Usd.Stage.Open(front), Usd.Stage.Open(merged)
    for prim in Usd.PrimRange(before.GetDefaultPrim()):
        same = after.GetPrimAtPath(prim.GetPath())
        if same.GetAllChildrenNames() != prim.GetAllChildrenNames():
            same.SetChildrenReorder(prim.GetAllChildrenNames())
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


def _flattened(layers: Iterable[Path]) -> Sdf.Layer:
    """Return an anonymous layer of several, strongest first; asset paths stay as they are."""
    stack = Sdf.Layer.CreateAnonymous()
    stack.subLayerPaths = [str(layer) for layer in layers]
    stage = Usd.Stage.Open(stack, Usd.Stage.LoadNone)
    return UsdUtils.FlattenLayerStack(stage, lambda _, path: path)


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
    """Write a layered asset for several simulators in the layout of Isaac Sim.

    Args:
        layered: Folder of the layered asset; its libraries and textures are moved.
        interface: File name of its interface layer.
        folder: Empty folder for the asset.
    """
    source, target = layered / PAYLOAD, folder / PAYLOADS
    (target / _VARIANTS[WITH_PHYSICS]).parent.mkdir(parents=True)
    base = _merged([source / name for name in WITHOUT_PHYSICS], target / _BASE)
    extensions = source / EXTENSIONS_LAYER
    _instantiate_visuals(base, Sdf.Layer.CreateNew(str(target / _INSTANCES)), extensions)
    _copied(source / ROBOT_LAYER, target / _ROBOT).Save()
    base.subLayerPaths = [f"./{_ROBOT}"]
    base.Save()
    # Before a stage is opened that composes them.
    for name, new in {**_LIBRARIES, TEXTURES: TEXTURES}.items():
        if (source / name).exists():
            (source / name).rename(target / new)
    physics = [source / name for name in _MERGED_PHYSICS if (source / name).is_file()]
    _merged(physics, target / _VARIANTS[WITH_PHYSICS]).Save()
    for name, variant in ((PHYSX_LAYER, WITH_PHYSX), (NEWTON_LAYER, WITH_NEWTON)):
        layer = _copied(source / name, target / _VARIANTS[variant])
        layer.subLayerPaths = ["./physics.usda"]
        layer.Save()
    layer = _copied(layered / interface, folder / interface)
    prim = layer.GetPrimAtPath(f"/{layer.defaultPrim}")
    for name in list(prim.variantSets.keys()):
        del prim.variantSets[name]
        del prim.variantSelections[name]
    prim.variantSetNameList.ClearEdits()
    prim.referenceList.prependedItems = [Sdf.Reference(f"./{PAYLOADS}/{_BASE}")]
    variants = {name: (f"./{PAYLOADS}/{file}",) for name, file in _VARIANTS.items()}
    author_choice(prim, PHYSICS_SET, {**variants, NONE: ()})
    layer.Save()


def _copied(source: Path, target: Path) -> Sdf.Layer:
    layer = Sdf.Layer.CreateNew(str(target))
    layer.TransferContent(Sdf.Layer.FindOrOpen(str(source)))
    return layer


def _merged(sources: list[Path], target: Path) -> Sdf.Layer:
    """Return a new layer with the opinions of several, and their units."""
    layer = Sdf.Layer.CreateNew(str(target))
    layer.TransferContent(_flattened(sources))
    write_units(layer)
    layer.defaultPrim = Sdf.Layer.FindOrOpen(str(sources[-1])).defaultPrim
    return layer


def _instantiate_visuals(base: Sdf.Layer, instances: Sdf.Layer, extensions: Path) -> None:
    """Turn visual meshes into instances of prims of another layer with that mesh.

    The material of the whole mesh stays on the instance; those of parts are inside.
    Visuals with custom elements below them stay, because instances would hide these.
    """
    write_units(instances)
    define(instances, _INSTANCES_ROOT, "Scope")
    instances.defaultPrim = _INSTANCES_ROOT.name
    extended = set()
    if extensions.is_file():
        specs = prim_specs(Sdf.Layer.FindOrOpen(str(extensions)))
        extended = {prim.path for prim in specs if prim.nameChildren}
    prims = list(prim_specs(base))
    with Sdf.ChangeBlock():
        for prim in prims:
            for reference in list(prim.referenceList.prependedItems):
                library = _LIBRARIES[reference.assetPath.removeprefix("./")]
                moved = Sdf.Reference(f"./{library}", reference.primPath)
                prim.referenceList.ReplaceItemEdits(reference, moved)
    made: dict[tuple[object, ...], Sdf.Path] = {}  # By mesh and materials of its parts.
    for prim in prims:
        purpose = prim.attributes.get("purpose")
        is_collider = purpose is not None and purpose.default == "guide"
        meshes = prim.referenceList.prependedItems
        if prim.typeName != "Mesh" or is_collider or not meshes or prim.path in extended:
            continue
        materials = {}
        for child in prim.nameChildren.values():
            (path,) = child.relationships["material:binding"].targetPathList.explicitItems
            (materials[child.name],) = base.GetPrimAtPath(path).referenceList.prependedItems
        key = (meshes[0].primPath, *materials.items())
        if key not in made:
            names = [path.name for path in made.values()]
            (free,) = sibling_names([meshes[0].primPath.name], names)
            made[key] = _INSTANCES_ROOT.AppendChild(free)
            _write_instance(instances, made[key], meshes[0], materials)
        for name in list(prim.nameChildren.keys()):
            del prim.nameChildren[name]
        prim.typeName = "Xform"
        prim.instanceable = True
        inside = Sdf.Reference(f"./{_INSTANCES}", made[key])
        prim.referenceList.ReplaceItemEdits(meshes[0], inside)
    instances.Save()


def _write_instance(
    layer: Sdf.Layer,
    path: Sdf.Path,
    reference: Sdf.Reference,
    materials: Mapping[str, Sdf.Reference],
) -> None:
    """Write a prim with a mesh, whose parts have materials."""
    define(layer, path, "Xform")
    mesh = define(layer, path.AppendChild(reference.primPath.name), "Mesh")
    mesh.referenceList.prependedItems = [reference]
    if not materials:
        return
    (name,) = sibling_names(["VisualMaterials"], [mesh.name])
    scope = path.AppendChild(name)
    define(layer, scope, "Scope")
    for name, material in materials.items():
        local = scope.AppendChild(material.primPath.name)
        define(layer, local, "Material").referenceList.prependedItems = [material]
        part = over(layer, mesh.path.AppendChild(name))
        apply(part, "MaterialBindingAPI")
        relate(part, "material:binding", local)
