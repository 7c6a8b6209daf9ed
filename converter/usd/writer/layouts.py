"""Other layouts of a layered asset: one layer, a USDZ package, and that of Isaac Sim.

One layer contains the libraries as classes with internal references, and both variant sets.
In that of Isaac Sim's asset transformer the interface references ``payloads/base.usda`` with
links, shapes and materials; variants add ``Physics/physics.usda``, or a layer of a simulator
over it. Visual meshes are instances in ``instances.usda``; colliders are not, since physics is
authored on them.
"""

from __future__ import annotations

import errno
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

from pxr import Sdf, Usd

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.options import ConvertOptions, Layout, Profile
from urdf_usd.converter.robot.bodies import BodyAssignment
from urdf_usd.converter.robot.model import Robot
from urdf_usd.converter.robot.topology import Tree
from urdf_usd.converter.simulation.resolution import Simulation
from urdf_usd.converter.usd.writer import asset, specs
from urdf_usd.converter.usd.writer.materials import TEXTURES

_ROOT = Sdf.Path.absoluteRootPath
# Each library, and the name of its class in one layer.
_LIBRARIES = {
    asset.Layer.GEOMETRY_LIBRARY: "GeometryLibrary",
    asset.Layer.MATERIALS_LIBRARY: "MaterialsLibrary",
}
ISAAC_INSTANCES = "payloads/instances.usda"
_INSTANCES_ROOT = Sdf.Path("/Instances")
_DEFAULTS = ConvertOptions()


def write_asset(
    robot: Robot,
    tree: Tree,
    bodies: BodyAssignment,
    folder: Path,
    options: ConvertOptions = _DEFAULTS,
    simulation: Simulation | None = None,
) -> tuple[Diagnostic, ...]:
    """Write a robot as an asset with the files of its profile and layout.

    Returns:
        Diagnostics about omissions and changes.

    Raises:
        AuthoringError: A number is too large for float32, or links are nested too
            deeply.
        OSError: The asset cannot be written.
    """
    if options.layout is Layout.LAYERED:
        notes = asset.author_asset(robot, tree, bodies, folder, options, simulation)
        if options.profile is Profile.ISAAC:
            _instantiate_visuals(folder)
        return notes
    layered = folder / "layered"
    notes = asset.author_asset(robot, tree, bodies, layered, options, simulation)
    name = asset.asset_name(robot)
    _bundle(layered, (folder / name).with_suffix(Layout.SINGLE.suffix), options.layout)
    shutil.rmtree(layered)
    return notes


def _bundle(layered: Path, file: Path, layout: Layout) -> None:
    """Write a layered asset as one layer, or a package; its textures are moved."""
    _write_merged(layered / file.with_suffix(Layout.LAYERED.suffix).name, file)
    textures = file.parent / TEXTURES
    if (layered / asset.PAYLOAD / TEXTURES).is_dir():
        (layered / asset.PAYLOAD / TEXTURES).rename(textures)
    if layout is Layout.USDZ:
        files = (file, *sorted(textures.glob("*")))
        write_package(file.with_suffix(layout.suffix), file.parent, files)
        for packed in files:
            packed.unlink()
        if textures.is_dir():
            textures.rmdir()


def _write_merged(interface: Path, file: Path) -> None:
    """Write all layers of an asset as one."""
    payload = interface.parent / asset.PAYLOAD
    front = Sdf.Layer.FindOrOpen(str(interface))

    def read(name: str) -> Sdf.Layer:
        return Sdf.Layer.FindOrOpen(str(payload / name))

    robot = _ROOT.AppendChild(front.defaultPrim)
    merged = Sdf.Layer.CreateAnonymous()
    for key in sorted(front.pseudoRoot.ListInfoKeys()):
        merged.pseudoRoot.SetInfo(key, front.pseudoRoot.GetInfo(key))
    Sdf.CopySpec(front, robot, merged, robot)
    root = merged.GetPrimAtPath(robot)
    root.assetInfo["identifier"] = Sdf.AssetPath(f"./{file.name}")
    visuals = asset.flattened([*map(read, asset.WITHOUT_PHYSICS)])
    for child in visuals.GetPrimAtPath(robot).nameChildren:
        Sdf.CopySpec(visuals, child.path, merged, child.path)
    contents = read(asset.Layer.CONTENTS)
    for variant in [one.primSpec for s in root.variantSets.values() for one in s.variantList]:
        names = [Path(one.assetPath).name for one in variant.payloadList.prependedItems]
        variant.payloadList.ClearEdits()
        if asset.Layer.CONTENTS in names:
            names = [*names[:-1], *(name.removeprefix("./") for name in contents.subLayerPaths)]
        if layers := [read(name) for name in names if name not in asset.WITHOUT_PHYSICS]:
            Sdf.CopySpec(asset.flattened(layers), robot, merged, variant.path)
    classes = specs.sibling_names(_LIBRARIES.values(), (robot.name,))
    for library, name in zip(_LIBRARIES, classes, strict=True):
        source = read(library)
        origin, place = _ROOT.AppendChild(source.defaultPrim), _ROOT.AppendChild(name)
        Sdf.CopySpec(source, origin, merged, place)
        for prim in specs.prim_specs(merged):
            for reference in list(prim.referenceList.prependedItems):
                if reference.assetPath == f"./{library}":
                    inside = Sdf.Reference("", reference.primPath.ReplacePrefix(origin, place))
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
    """Write a crate layer, which has specs in the order in which they are made.

    Exporting a text layer to crate orders them by memory address, and so does Sdf.CopySpec of
    usd-core 26.8 with the kinds of children of a prim.
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
            inside += [
                (one.primSpec, Sdf.VariantSpec(copied, one.name).primSpec)
                for one in variants.variantList
            ]
        for child in source.nameChildren:
            kind = child.specifier, child.typeName
            inside.append((child, Sdf.PrimSpec(target, child.name, *kind)))
        pairs += reversed(inside)
    written.Save()


def write_package(package: Path, folder: Path, files: Sequence[Path]) -> None:
    """Write a USDZ package; OSError if it would be too large for some readers of zip archives."""
    try:
        with zipfile.ZipFile(package, "w", allowZip64=False) as archive:
            for file in files:
                # The earliest time that an archive can state; readable on all systems.
                name = file.relative_to(folder).as_posix()
                member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                member.create_system, member.external_attr = 3, 0o100644 << 16
                # Content is aligned to 64 bytes by an extra field, marked as padding as by
                # OpenUSD's writer; headers have 30 bytes and the name, and 4 bytes.
                padding = -(archive.start_dir + 30 + len(name.encode()) + 4) % 64
                header = (0x1986).to_bytes(2, "little") + padding.to_bytes(2, "little")
                member.extra = header + bytes(padding)
                archive.writestr(member, file.read_bytes())
    except zipfile.LargeZipFile as error:
        message = "a package may not exceed 2 GiB; choose another layout"
        raise OSError(errno.EFBIG, message, str(package)) from error


def _instantiate_visuals(folder: Path) -> None:
    """Turn visual meshes into instances of prims of another layer with mesh and parts.

    Visuals with custom elements below them stay, because instances would hide these.
    """
    base, physics = (
        Sdf.Layer.FindOrOpen(str(folder / asset.ISAAC_PLACES[name]))
        for name in (asset.Layer.GEOMETRY, asset.Layer.PHYSICS)
    )
    instances = Sdf.Layer.CreateNew(str(folder / ISAAC_INSTANCES))
    asset.write_units(instances)
    specs.define(instances, _INSTANCES_ROOT, "Scope")
    instances.defaultPrim = _INSTANCES_ROOT.name
    extended = {prim.path for prim in specs.prim_specs(physics) if prim.nameChildren}
    made: dict[tuple[object, ...], Sdf.Path] = {}  # By mesh and materials of its parts.
    for prim in list(specs.prim_specs(base)):
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
            (free,) = specs.sibling_names([meshes[0].primPath.name], names)
            made[key] = _INSTANCES_ROOT.AppendChild(free)
            _write_instance(instances, made[key], meshes[0], materials)
        for name in list(prim.nameChildren.keys()):
            del prim.nameChildren[name]
        prim.typeName = "Xform"
        prim.instanceable = True
        inside = Sdf.Reference("./instances.usda", made[key])
        prim.referenceList.ReplaceItemEdits(meshes[0], inside)
    instances.Save()
    base.Save()


def _write_instance(
    layer: Sdf.Layer, path: Sdf.Path, reference: Sdf.Reference, materials: dict[str, Sdf.Reference]
) -> None:
    """Write a prim with a mesh, whose parts have materials."""
    specs.define(layer, path, "Xform")
    mesh = specs.define(layer, path.AppendChild(reference.primPath.name), "Mesh")
    mesh.referenceList.prependedItems = [reference]
    scope = path.AppendChild(*specs.sibling_names(["VisualMaterials"], [mesh.name]))
    if materials:
        specs.define(layer, scope, "Scope")
    for name, material in materials.items():
        local = scope.AppendChild(material.primPath.name)
        specs.define(layer, local, "Material").referenceList.prependedItems = [material]
        part = specs.over(layer, mesh.path.AppendChild(name))
        specs.apply(part, "MaterialBindingAPI")
        specs.relate(part, "material:binding", local)
