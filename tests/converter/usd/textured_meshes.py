"""Small textured meshes, and the materials bound to them after conversion."""

from __future__ import annotations

import zlib
from pathlib import Path

from pxr import Usd, UsdShade

from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.conversion import Conversion
from urdf_usd.converter.options import MaterialNetworks

# Two triangles and a quadrilateral; every corner has a texture coordinate.
SURFACE = """mtllib part.mtl
v 0.1 0.2 0.3
v 1.4 0.0 -0.2
v 1.2 1.1 0.1
v -0.1 0.9 0.2
v 0.5 0.4 1.6
vt 0.1 0.2
vt 0.9 0.3
vt 0.8 0.7
vt 0.2 0.6
"""
FACES = ("f 4/4 3/3 2/2 1/1", "f 1/1 2/2 5/3", "f 2/1 3/4 5/3")


def png(shade: int) -> bytes:
    """Return a PNG file of one grey pixel."""
    chunks = {
        b"IHDR": b"\0\0\0\1\0\0\0\1\x08\0\0\0\0",
        b"IDAT": zlib.compress(bytes([0, shade])),
        b"IEND": b"",
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")
        for name, data in chunks.items()
    )


def robot(
    folder: Path,
    visuals: str,
    networks: MaterialNetworks = MaterialNetworks.PREVIEW,
) -> tuple[Conversion, Usd.Stage]:
    urdf = folder / "r.urdf"
    urdf.write_text(f'<robot name="r"><link name="a">{visuals}</link></robot>')
    options = ConvertOptions(materials=networks)
    conversion = convert(urdf, folder / "asset", options)
    return conversion, Usd.Stage.Open(str(conversion.root_layer))


def visual(mesh: str, material: str = "") -> str:
    return f'<visual><geometry><mesh filename="{mesh}"/></geometry>{material}</visual>'


def parted(folder: Path, materials: str, *names: str) -> None:
    lines = [
        f"usemtl {name}\n{face}" if name else face for name, face in zip(names, FACES, strict=True)
    ]
    (folder / "part.obj").write_text(SURFACE + "\n".join(lines) + "\n")
    (folder / "part.mtl").write_text(materials)


def bound(prim: Usd.Prim) -> UsdShade.Material:
    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    return material


def surface(prim: Usd.Prim, context: str = "") -> UsdShade.Shader:
    return bound(prim).ComputeSurfaceSource(context)[0]


def source(shader: UsdShade.Shader, name: str) -> tuple[UsdShade.Shader, str]:
    ((info, *_), _) = shader.GetInput(name).GetConnectedSources()
    return UsdShade.Shader(info.source.GetPrim()), info.sourceName


def rules(conversion: Conversion) -> list[str]:
    return [diagnostic.rule for diagnostic in conversion.diagnostics]


def shaders(material: UsdShade.Material) -> list[UsdShade.Shader]:
    prims = Usd.PrimRange(material.GetPrim())
    return [UsdShade.Shader(prim) for prim in prims if prim.IsA(UsdShade.Shader)]
