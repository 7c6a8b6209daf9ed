"""Images, robots with meshes, and the materials bound to them after conversion."""

from __future__ import annotations

import zlib
from pathlib import Path

from pxr import Usd, UsdShade

from urdf_usd.converter import convert
from urdf_usd.converter.conversion import Conversion


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


def robot(folder: Path, visuals: str) -> tuple[Conversion, Usd.Stage]:
    urdf = folder / "r.urdf"
    urdf.write_text(f'<robot name="r"><link name="a">{visuals}</link></robot>')
    conversion = convert(urdf, folder / "asset")
    return conversion, Usd.Stage.Open(str(conversion.root_layer))


def visual(mesh: str, material: str = "") -> str:
    return f'<visual><geometry><mesh filename="{mesh}"/></geometry>{material}</visual>'


def surface(prim: Usd.Prim, context: str = "") -> UsdShade.Shader:
    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    return material.ComputeSurfaceSource(context)[0]


def source(shader: UsdShade.Shader, name: str) -> tuple[UsdShade.Shader, str]:
    ((info, *_), _) = shader.GetInput(name).GetConnectedSources()
    return UsdShade.Shader(info.source.GetPrim()), info.sourceName
