"""The material library, and bindings of its materials.

Materials of a mesh file override that of the URDF, per part; the URDF's material is
bound to parts without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct, structs
from pxr import Sdf

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.meshes.mesh_materials import (
    PLAIN_SAMPLING,
    MeshMaterial,
    MeshTexture,
    Sampling,
    Slot,
)
from urdf_usd.converter.options import MaterialNetworks
from urdf_usd.converter.robot.model import Geometry, Link, MeshFile, Robot
from urdf_usd.converter.usd.writer.meshes import MeshLibrary, SurfaceParts
from urdf_usd.converter.usd.writer.prims import Prims, sibling_names
from urdf_usd.converter.usd.writer.shading import Appearance, Texture, write_networks
from urdf_usd.converter.usd.writer.specs import apply, define, over, relate, show_spec_name
from urdf_usd.converter.usd.writer.textures import (
    Image,
    copy_textures,
    image_of,
    is_outside,
    own_folders,
)

LIBRARY_ROOT = Sdf.Path("/Materials")
# Folder next to the library.
TEXTURES = "Textures"
# Name of materials without name.
_UNNAMED = "material"


class MaterialBinding(Struct, frozen=True):
    """The appearance of a part of a visual."""

    link: str
    visual: int  # Index in its link.
    subset: str | None  # Of its mesh; None for the visual itself.
    appearance: Appearance  # Without textures.
    images: tuple[tuple[Slot, Image, Sampling], ...]
    mesh_file: str | None  # The file that has the material; None if the URDF does.
    location: Location | None


class MaterialLibrary(Struct, frozen=True):
    """Materials of an asset: prims of the library, and the parts of visuals that have them."""

    prims: dict[Appearance, Sdf.Path]
    bindings: tuple[tuple[MaterialBinding, Appearance], ...]
    diagnostics: tuple[Diagnostic, ...]


def author_material_library(
    robot: Robot,
    meshes: MeshLibrary,
    layer: Sdf.Layer,
    folder: Path,
    networks: MaterialNetworks = MaterialNetworks.PREVIEW,
) -> MaterialLibrary:
    """Write each distinct appearance of a robot to a library, and copy its textures.

    Args:
        robot: The robot.
        meshes: Its meshes, with their materials.
        layer: Empty layer of the library, which no stage composes.
        folder: Folder of the library layer.
        networks: Shader networks of materials.
    """
    define(layer, LIBRARY_ROOT, "Scope").specifier = Sdf.SpecifierClass
    layer.defaultPrim = LIBRARY_ROOT.name
    parts = [binding for link in robot.links for binding in _bindings(link, meshes)]
    locations: dict[Image, Location | None] = {}
    for part in parts:
        for _, image, _ in part.images:
            locations.setdefault(image, part.location)
    textures = copy_textures(locations, folder / TEXTURES)
    bindings = []
    for part in parts:
        shown = tuple(
            (slot, Texture(f"./{TEXTURES}/{textures.files[image]}", sampling))
            for slot, image, sampling in part.images
            if image in textures.files
        )
        appearance = structs.replace(part.appearance, textures=shown)
        if part.mesh_file or appearance.textures or appearance.color:
            bindings.append((part, appearance))
    appearances = list(dict.fromkeys(appearance for _, appearance in bindings))
    names = sibling_names(appearance.name or _UNNAMED for appearance in appearances)
    prims = {}
    for appearance, name in zip(appearances, names, strict=True):
        prims[appearance] = LIBRARY_ROOT.AppendChild(name)
        material = define(layer, prims[appearance], "Material")
        if appearance.name:
            show_spec_name(material, appearance.name)
        write_networks(material, appearance, networks)
    diagnostics = (
        *_texture_diagnostics(robot, meshes),
        *_from_outside(parts),
        *textures.diagnostics,
    )
    return MaterialLibrary(prims, tuple(bindings), _once(diagnostics))


def author_materials(
    layer: Sdf.Layer,
    geometry: Sdf.Layer,
    prims: Prims,
    library: MaterialLibrary,
    library_asset: str,
) -> None:
    """Reference the library's materials into the asset and bind them.

    Bindings must not target prims in other layers: they are lost across a payload.

    Args:
        layer: The layer of materials; faster if no stage composes it yet.
        geometry: The geometry layer, finished.
        prims: Paths of all prims.
        library: The materials.
        library_asset: Layer of the materials, relative to the first.
    """
    if not library.prims:
        return
    define(layer, prims.materials, "Scope")
    for path in library.prims.values():
        local = define(layer, prims.materials.AppendChild(path.name), "Material")
        local.referenceList.prependedItems = [Sdf.Reference(library_asset, path)]
    for binding, appearance in library.bindings:
        path = prims.visual[binding.link][binding.visual]
        if not geometry.GetPrimAtPath(path):
            continue
        if binding.subset is not None:
            path = path.AppendChild(binding.subset)
        part = over(layer, path)
        apply(part, "MaterialBindingAPI")
        name = library.prims[appearance].name
        relate(part, "material:binding", prims.materials.AppendChild(name))


def _bindings(link: Link, meshes: MeshLibrary) -> Iterator[MaterialBinding]:
    for index, visual in enumerate(link.visuals):
        file, parts = _surface(visual.geometry, meshes)
        can_show = _can_show(parts)
        if (material := visual.material) is not None and not (parts and parts.covered):
            color, opacity = None, 1.0
            if material.rgba is not None:
                red, green, blue, opacity = (min(max(c, 0.0), 1.0) for c in material.rgba)
                color = red, green, blue
            images: tuple[tuple[Slot, Image, Sampling], ...] = ()
            if material.texture_path and can_show:
                image = Image(material.texture_uri or "", material.texture_path)
                images = ((Slot.COLOR, image, PLAIN_SAMPLING),)
            appearance = Appearance(material.name, color, opacity)
            yield MaterialBinding(link.name, index, None, appearance, images, None, link.location)
        for subset, own in parts.materials if parts else ():
            images = tuple(
                (slot, image_of(texture, file), _within(texture, parts))
                for slot, texture in own.textures
                if can_show
            )
            appearance = _appearance_of(own)
            yield MaterialBinding(link.name, index, subset, appearance, images, file, link.location)


def _appearance_of(material: MeshMaterial) -> Appearance:
    names = set(Appearance.__struct_fields__) - {"name", "textures"}
    return Appearance(material.name or None, **{name: getattr(material, name) for name in names})


def _within(texture: MeshTexture, parts: SurfaceParts | None) -> Sampling:
    """Use the first texture coordinates if the surface lacks those of the texture."""
    number = texture.sampling.coordinates
    known = parts is not None and number in parts.coordinate_sets
    return texture.sampling if known else structs.replace(texture.sampling, coordinates=0)


def _surface(geometry: Geometry, meshes: MeshLibrary) -> tuple[str, SurfaceParts | None]:
    """Return the file and the parts of a mesh; None for other shapes."""
    if not isinstance(geometry, MeshFile) or geometry.path is None:
        return "", None
    return geometry.path, meshes.parts.get(geometry.path)


def _texture_diagnostics(robot: Robot, meshes: MeshLibrary) -> Iterator[Diagnostic]:
    """Report textures without texture coordinates, and overridden materials."""
    for link in robot.links:
        for visual in link.visuals:
            _, parts = _surface(visual.geometry, meshes)
            material, location = visual.material, link.location
            if material and parts and parts.covered:
                name = f"material {material.name!r}" if material.name else "a material"
                message = f"{name} is not used on meshes that have their own"
                yield Diagnostic("material-overridden", message, location)
            elif material and material.texture_path and not _can_show(parts):
                yield _dropped_texture(material.texture_uri, visual.geometry, location)
            for _, own in parts.materials if parts else ():
                for _, texture in () if _can_show(parts) else own.textures:
                    yield _dropped_texture(texture.reference, visual.geometry, location)


def _can_show(parts: SurfaceParts | None) -> bool:
    return parts is not None and 0 in parts.coordinate_sets


def _dropped_texture(
    reference: str | None, geometry: Geometry, location: Location | None
) -> Diagnostic:
    shape = "mesh" if isinstance(geometry, MeshFile) else "shape"
    message = (
        f"texture {reference!r} is not converted: a {shape} it is on has no texture "
        "coordinates; the colour is used"
    )
    return Diagnostic("texture-dropped", message, location)


def _from_outside(bindings: Iterable[MaterialBinding]) -> Iterator[Diagnostic]:
    uses: dict[tuple[str, str], Location | None] = {}
    for binding in bindings:
        for _, image, _ in binding.images if binding.mesh_file else ():
            if image.path:
                uses.setdefault((image.path, binding.mesh_file or ""), binding.location)
    folders_of = cache(own_folders)
    for (path, mesh_file), location in uses.items():
        if is_outside(path, folders_of(Path(mesh_file).parent)):
            message = f"{path} lies outside the folders of its mesh; it is used"
            yield Diagnostic("file-outside", message, location)


def _once(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Remove diagnostics with the same rule and message."""
    first: dict[tuple[str, str], Diagnostic] = {}
    for diagnostic in diagnostics:
        first.setdefault((diagnostic.rule, diagnostic.message), diagnostic)
    return tuple(first.values())
