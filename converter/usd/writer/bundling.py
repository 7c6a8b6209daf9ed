"""Conversion of layered assets to one layer or one USDZ package.

The layer contains the libraries as classes with internal references, so that each
surface is stored once, and both variant sets with the opinions of their layers. The
package contains that layer and the textures.
"""

from __future__ import annotations

import errno
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from pxr import Sdf, Usd, UsdUtils

from urdf_usd.converter.options import Layout
from urdf_usd.converter.usd.writer.interface import (
    COLLIDERS_SET,
    NONE,
    PHYSICS_SET,
    WITH_MUJOCO,
    WITH_NEWTON,
    WITH_PHYSICS,
    WITH_PHYSX,
)
from urdf_usd.converter.usd.writer.layers import (
    EXTENSIONS_LAYER,
    GEOMETRY_LIBRARY,
    MATERIALS_LIBRARY,
    MUJOCO_LAYER,
    NEWTON_LAYER,
    NO_COLLIDERS_LAYER,
    PAYLOAD,
    PHYSICS_LAYER,
    PHYSX_LAYER,
    SIMULATION_LAYER,
    WITHOUT_PHYSICS,
)
from urdf_usd.converter.usd.writer.materials.materials import TEXTURES
from urdf_usd.converter.usd.writer.names import sibling_names

_ROOT = Sdf.Path.absoluteRootPath
_PHYSICS = (EXTENSIONS_LAYER, SIMULATION_LAYER, PHYSICS_LAYER)
# Layers of each variant, strongest first. An asset for one simulator has no variants
# with the names of simulators.
_VARIANTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (PHYSICS_SET, WITH_NEWTON, (NEWTON_LAYER, *_PHYSICS)),
    (PHYSICS_SET, WITH_PHYSX, (PHYSX_LAYER, *_PHYSICS)),
    (PHYSICS_SET, WITH_MUJOCO, (MUJOCO_LAYER, *_PHYSICS)),
    (PHYSICS_SET, WITH_PHYSICS, _PHYSICS),
    (PHYSICS_SET, NONE, ()),
    (COLLIDERS_SET, NONE, (NO_COLLIDERS_LAYER,)),
)
# Each library, and the name of its class.
_LIBRARIES = (
    (GEOMETRY_LIBRARY, "GeometryLibrary"),
    (MATERIALS_LIBRARY, "MaterialsLibrary"),
)


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
    for choice, variant, names in _VARIANTS:
        path = robot.AppendVariantSelection(choice, variant)
        if merged.GetPrimAtPath(path) is None:
            continue
        merged.GetPrimAtPath(path).payloadList.ClearEdits()
        layers = [payload / name for name in names if (payload / name).is_file()]
        if layers:
            Sdf.CopySpec(flattened(layers), robot, merged, path)
    names = sibling_names((name for _, name in _LIBRARIES), (robot.name,))
    for (library, _), name in zip(_LIBRARIES, names, strict=True):
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
    """Merge layers, strongest first; asset paths stay as they are.

    Returns:
        An anonymous layer.
    """
    stack = Sdf.Layer.CreateAnonymous()
    stack.subLayerPaths = [str(layer) for layer in layers]
    stage = Usd.Stage.Open(stack, Usd.Stage.LoadNone)
    return UsdUtils.FlattenLayerStack(stage, lambda _, path: path)


def _refer_inside(layer: Sdf.Layer, asset: str, origin: Sdf.Path, root: Sdf.Path) -> None:
    """Replace references to a library by internal references."""
    paths: list[Sdf.Path] = []
    layer.Traverse(_ROOT, paths.append)
    for prim in (layer.GetPrimAtPath(path) for path in paths if path.IsPrimPath()):
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


_ALIGNMENT = 64
# Of the header that precedes each file, without its name and extra field; and of the
# header within the extra field.
_LOCAL_HEADER, _EXTRA_HEADER = 30, 4
# Marks the extra field as padding, as OpenUSD's writer does.
_PADDING = 0x1986
# The earliest time that an archive can state.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_READABLE = 0o100644 << 16


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
    try:
        _write(package, folder, files)
    except zipfile.LargeZipFile as error:
        message = "a package may not exceed 2 GiB; choose another layout"
        raise OSError(errno.EFBIG, message, str(package)) from error


def _write(package: Path, folder: Path, files: Sequence[Path]) -> None:
    start = 0
    with zipfile.ZipFile(package, "w", allowZip64=False) as archive:
        for file in files:
            name, content = file.relative_to(folder).as_posix(), file.read_bytes()
            member = zipfile.ZipInfo(name, _NO_TIME)
            member.create_system, member.external_attr = _UNIX, _READABLE
            start += _LOCAL_HEADER + len(name.encode()) + _EXTRA_HEADER
            member.extra = _padding(-start % _ALIGNMENT)
            archive.writestr(member, content)
            start += -start % _ALIGNMENT + len(content)


def _padding(size: int) -> bytes:
    """Return an extra field of some bytes and its own header."""
    return _PADDING.to_bytes(2, "little") + size.to_bytes(2, "little") + bytes(size)
