"""The material library, and bindings of its materials.

Materials of a mesh file override that of the URDF, per part; the URDF's material is
bound to parts without one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

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
from urdf_usd.converter.robot.model import Link, MeshFile, Robot
from urdf_usd.converter.usd.writer.meshes import MeshLibrary, SurfaceParts
from urdf_usd.converter.usd.writer.prims import Prims, sibling_names
from urdf_usd.converter.usd.writer.shading import write_networks
from urdf_usd.converter.usd.writer.specs import apply, define, over, relate, show_spec_name
from urdf_usd.converter.usd.writer.textures import Image, copy_textures, image_of, outside_note

LIBRARY_ROOT = Sdf.Path("/Materials")
# Folder next to the library.
TEXTURES = "Textures"
_UNNAMED = "material"
_NO_PARTS = SurfaceParts((), covered=False, coordinate_sets=())


class _Part(Struct, frozen=True):
    """A visual, or a part of it, with a material."""

    visual: tuple[str, int]  # Link, and index of the visual.
    subset: str | None  # Of its mesh; None for the visual itself.
    material: MeshMaterial  # Without textures.
    images: list[tuple[Slot, Image, Sampling]]
    mesh_file: str | None = None  # The file that has the material; None if the URDF does.


Binding: TypeAlias = tuple[tuple[str, int], str | None, Sdf.Path]
"""A link and the index of its visual, the subset of the mesh, and a prim of the library."""


def author_material_library(
    robot: Robot,
    meshes: MeshLibrary,
    layer: Sdf.Layer,
    folder: Path,
    networks: MaterialNetworks = MaterialNetworks.PREVIEW,
) -> tuple[tuple[Binding, ...], tuple[Diagnostic, ...]]:
    """Write each distinct material of a robot to an empty layer, and copy its textures.

    Args:
        robot: The robot.
        meshes: Its meshes, with their materials.
        layer: The layer.
        folder: Folder of the layer.
        networks: Shader networks of materials.
    """
    define(layer, LIBRARY_ROOT, "Scope").specifier = Sdf.SpecifierClass
    layer.defaultPrim = LIBRARY_ROOT.name
    notes: list[Diagnostic] = []
    parts: list[_Part] = []
    images: dict[Image, Location | None] = {}
    for link in robot.links:
        for part in _parts(link, meshes, notes):
            parts.append(part)
            for _, image, _ in part.images:
                images.setdefault(image, link.location)
                if image.path and part.mesh_file:
                    folder_of_mesh = Path(part.mesh_file).parent
                    notes += outside_note(image.path, folder_of_mesh, link.location)
    files, problems = copy_textures(images, folder / TEXTURES)
    bound = []
    for part in parts:
        textures = tuple(
            (slot, MeshTexture(f"./{TEXTURES}/{files[image]}", sampling=sampling))
            for slot, image, sampling in part.images
            if image in files
        )
        if part.mesh_file or textures or part.material.color:
            bound.append((part, structs.replace(part.material, textures=textures)))
    materials = list(dict.fromkeys(material for _, material in bound))
    names = sibling_names(material.name or _UNNAMED for material in materials)
    paths = {}
    for material, name in zip(materials, names, strict=True):
        paths[material] = LIBRARY_ROOT.AppendChild(name)
        spec = define(layer, paths[material], "Material")
        if material.name:
            show_spec_name(spec, material.name)
        write_networks(spec, material, networks)
    bindings = ((part.visual, part.subset, paths[own]) for part, own in bound)
    first: dict[tuple[str, str], Diagnostic] = {}
    for note in (*notes, *problems):
        first.setdefault((note.rule, note.message), note)
    return tuple(bindings), tuple(first.values())


def bind_materials(
    layer: Sdf.Layer,
    geometry: Sdf.Layer,
    prims: Prims,
    bindings: tuple[Binding, ...],
    library_asset: str,
) -> None:
    """Reference the library's materials into the asset and bind them.

    Bindings must not target prims in other layers: they are lost across a payload. The
    path of the library is relative to the layer.
    """
    if bindings:
        define(layer, prims.materials, "Scope")
    for path in dict.fromkeys(path for *_, path in bindings):
        local = define(layer, prims.materials.AppendChild(path.name), "Material")
        local.referenceList.prependedItems = [Sdf.Reference(library_asset, path)]
    for (link, visual), subset, material in bindings:
        path = prims.visual[link][visual]
        if geometry.GetPrimAtPath(path):
            part = over(layer, path.AppendChild(subset) if subset else path)
            apply(part, "MaterialBindingAPI")
            relate(part, "material:binding", prims.materials.AppendChild(material.name))


def _parts(link: Link, meshes: MeshLibrary, notes: list[Diagnostic]) -> Iterator[_Part]:
    """Yield the parts of a link with materials; report what is not used."""
    for index, visual in enumerate(link.visuals):
        mesh = visual.geometry if isinstance(visual.geometry, MeshFile) else None
        file = (mesh.path if mesh else None) or ""
        surface = meshes.parts.get(file, _NO_PARTS)
        shows_textures = 0 in surface.coordinate_sets

        def drop(reference: str | None, shape: str = "mesh" if mesh else "shape") -> None:
            message = (
                f"texture {reference!r} is not converted: a {shape} it is on has no texture "
                "coordinates; the colour is used"
            )
            notes.append(Diagnostic("texture-dropped", message, link.location))

        own = visual.material
        if own is not None and surface.covered:
            name = f"material {own.name!r}" if own.name else "a material"
            message = f"{name} is not used on meshes that have their own"
            notes.append(Diagnostic("material-overridden", message, link.location))
        elif own is not None:
            images: list[tuple[Slot, Image, Sampling]] = []
            if own.texture_path and shows_textures:
                image = Image(own.texture_uri or "", own.texture_path)
                images.append((Slot.COLOR, image, PLAIN_SAMPLING))
            elif own.texture_path:
                drop(own.texture_uri)
            material = MeshMaterial(own.name or "")
            if own.rgba is not None:
                red, green, blue, opacity = (min(max(c, 0.0), 1.0) for c in own.rgba)
                material = MeshMaterial(own.name or "", (red, green, blue), opacity)
            yield _Part((link.name, index), None, material, images)
        for subset, material in surface.materials:
            images = []
            for slot, texture in material.textures:
                if not shows_textures:
                    drop(texture.reference)
                    continue
                # The first texture coordinates, if the surface lacks those of the texture.
                known = texture.sampling.coordinates in surface.coordinate_sets
                sampling = texture.sampling if known else texture.sampled(coordinates=0).sampling
                images.append((slot, image_of(texture, file), sampling))
            plain = structs.replace(material, textures=(), double_sided=False)
            yield _Part((link.name, index), subset, plain, images, file)
