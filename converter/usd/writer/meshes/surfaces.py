"""Reading of mesh files, and writing to the mesh library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from pxr import Sdf

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.file_content import read_file
from urdf_usd.converter.meshes.polygon_mesh import MeshError, PolygonMesh, mirrored
from urdf_usd.converter.meshes.read import LARGEST_FILE, decode_mesh, mesh_notes
from urdf_usd.converter.meshes.stl import holds_binary_stl
from urdf_usd.converter.usd.writer.materials.textures import is_outside
from urdf_usd.converter.usd.writer.meshes.library import MeshKey, MeshLibrary, Mirror
from urdf_usd.converter.usd.writer.meshes.prims import SurfaceParts, write_mesh
from urdf_usd.converter.usd.writer.names import sibling_names

# Keywords of references to other files. Equal files without them are equal meshes; with
# them only in the same folder.
_REFERENCES = (b"mtllib", b"init_from", b'"uri"', b"TextureFile")


def write_surfaces(
    uses: Mapping[MeshKey, Location | None], layer: Sdf.Layer, root: Sdf.Path
) -> MeshLibrary:
    """Write all meshes below a prim of a library; one is in memory at a time.

    Args:
        uses: Meshes, and the location of the link that uses each first.
        layer: The library.
        root: Parent of the mesh prims.
    """
    names = sibling_names(Path(path).stem for path, _ in uses)
    name = dict(zip(uses, names, strict=True))
    library = MeshLibrary({}, {}, {}, ())
    written: dict[tuple[str, Mirror], tuple[Sdf.Path, SurfaceParts]] = {}
    diagnostics: list[Diagnostic] = []
    files = _by_file(uses)
    alike = _of_equal_size(files)
    for file, mirrors in files.items():
        location = uses[file, mirrors[0]]
        try:
            data = read_file(Path(file), LARGEST_FILE)
            content = _content(data, file) if file in alike else file
            mesh = None
            for mirror in mirrors:
                if (content, mirror) not in written:
                    if mesh is None:
                        mesh = decode_mesh(data, Path(file))
                        diagnostics += mesh_notes(Path(file).name, mesh, location)
                        diagnostics += _from_outside(mesh, file, location)
                    path = root.AppendChild(name[file, mirror])
                    parts = write_mesh(layer, path, mirrored(mesh, mirror))
                    written[content, mirror] = path, parts
                path, parts = written[content, mirror]
                library.prims[file, mirror] = path
                library.parts[file] = parts
        except (MeshError, OSError) as error:
            reason = (
                f"it cannot be opened: {error.strerror}"
                if isinstance(error, OSError)
                else str(error)
            )
            library.unreadable[file] = reason
            message = f"mesh {Path(file).name!r} cannot be read: {reason}"
            diagnostics.append(Diagnostic("mesh-unreadable", message, location))
    return MeshLibrary(
        library.prims, library.parts, library.unreadable, tuple(diagnostics)
    )


def _from_outside(
    mesh: PolygonMesh, file: str, location: Location | None
) -> list[Diagnostic]:
    """Report files of a mesh that are outside its folders."""
    return [
        Diagnostic(
            "file-outside",
            f"{path} lies outside the folders of its mesh; it is used",
            location,
        )
        for path in mesh.sibling_files
        if is_outside(path, file)
    ]


def _by_file(uses: Mapping[MeshKey, Location | None]) -> dict[str, list[Mirror]]:
    files: dict[str, list[Mirror]] = {}
    for file, mirror in uses:
        files.setdefault(file, []).append(mirror)
    return files


def _of_equal_size(files: Iterable[str]) -> frozenset[str]:
    """Return the files with the same size as another; only these can be equal."""
    sizes: dict[int, list[str]] = {}
    for file in files:
        # Missing files are reported when they are read.
        with suppress(OSError, ValueError):
            sizes.setdefault(Path(file).stat().st_size, []).append(file)
    return frozenset(
        file for alike in sizes.values() if len(alike) > 1 for file in alike
    )


def _content(data: bytes, file: str) -> str:
    """Return a key of the content; equal keys mean equal meshes."""
    import hashlib  # noqa: PLC0415  loads OpenSSL, which is slow

    digest = hashlib.sha256(data).hexdigest()
    refers = not holds_binary_stl(data) and any(word in data for word in _REFERENCES)
    return f"{digest} {Path(file).parent}" if refers else digest
