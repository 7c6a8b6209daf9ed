"""Materials of mesh files, as their formats define them, and their images.

Materials of glTF are read from its JSON, as trimesh rounds colours to 255 steps and does not
state the material of a surface. Nothing is shared with the converter, which reads the same files.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import math
import re
import stat
import warnings
from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote, unquote_to_bytes

import collada
from msgspec import Struct
from PIL import Image

from urdf_usd.conformance.observation.shapes import DOUBLE_SIDED, Vec3

Json: TypeAlias = dict[str, Any]
Properties: TypeAlias = tuple[tuple[str, tuple[float, ...] | str], ...]

# As in docs/dev/decisions.md [B].
LARGEST_MESH, LARGEST_IMAGE = 256 << 20, 128 << 20
# Of files that exist and are not read.
_REFUSED = (errno.EINVAL, errno.EFBIG)
_RGB = 3
_BLACK, _WHITE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0)
_JPEG = b"\xff\xd8\xff"
_PNG = b"\x89PNG\r\n\x1a\n"
_FORMATS = ("PNG", "GIF", "TIFF", "BMP", "TGA")
# Options before the file of a map in MTL.
_NUMBER = r"\s+[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?=\s)"
_OPTION = re.compile(
    r"-(?:(?:blend[uv]|bm|boost|cc|clamp|imfchan|texres|type)\s+\S+"
    rf"|mm(?:{_NUMBER}){{1,2}}|[ost](?:{_NUMBER}){{1,3}})\s+",
    re.IGNORECASE,
)
# Of a preview surface; smallest difference that counts, and the range of the format.
_FALLBACK_IOR, _APART, _IOR_RANGE = 1.5, 1e-4, (1e-3, 10.0)
# Inputs of a preview surface, and of its textures, that formats define and that are not compared:
# of MTL by statement, of COLLADA and glTF those of effects, samplers and extensions.
_WRAPS = frozenset({"diffuseColor.wrapS", "diffuseColor.wrapT"})
_UNREAD_MTL = {
    "map_ke": ("emissiveColor",),
    "map_d": ("opacity.",),
    "pm": ("metallic",),
    "map_pm": ("metallic",),
    "pr": ("roughness",),
    "map_pr": ("roughness",),
    "ks": ("specularColor", "useSpecularWorkflow"),
    "ns": ("roughness",),
    "pc": ("clearcoat",),
    "pcr": ("clearcoatRoughness",),
    "norm": ("normal",),
}
_UNREAD = frozenset(
    {"clearcoat", "ior", "normal", "opacity.", "specularColor", "useSpecularWorkflow"}
)
_UNREAD_DAE = _UNREAD | {"roughness"}
_UNREAD_GLTF = _UNREAD | {"clearcoatRoughness", "occlusion"}
_LUMINANCE = (0.212671, 0.715160, 0.072169)
# Wrap mode of glTF by its constant of OpenGL.
_REPEAT = 10497


def read_bounded(path: Path, largest: int) -> bytes:
    """Read a regular file of limited size [B]; any other, such as a pipe, raises OSError."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, f"{path.name} is not a regular file")
    if status.st_size > largest:
        raise OSError(errno.EFBIG, f"{path.name} is larger than {largest >> 20} MiB")
    return path.read_bytes()


def decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


class ImageFile(Struct, frozen=True):
    reference: str  # its file, as written in the mesh file
    folder: str  # folder that the reference is relative to
    content: bytes | None = None  # the image, if it is embedded in the mesh file

    @property
    def name(self) -> str:
        return self.reference.replace("\\", "/").rpartition("/")[2]

    def read(self) -> bytes | str:
        """Read the file; with a path of another machine, the one next to the mesh.

        The reference may be percent-encoded. A text is why it cannot be read.
        """
        reason = "is not found"
        if self.content is not None:
            return self.content
        written = self.reference.replace("\\", "/").removeprefix("file://")
        for reference in dict.fromkeys((written, unquote(written))):
            for path in (Path(self.folder, reference), Path(self.folder, self.name)):
                try:
                    return read_bounded(path, LARGEST_IMAGE)
                except (OSError, ValueError) as error:
                    if isinstance(error, OSError) and error.errno in _REFUSED:
                        reason = f"cannot be read: {error.strerror}"
        return reason


class FileMaterial(Struct, frozen=True):
    """A material of a mesh file; None is absent or ambiguous."""

    color: Vec3 | None = None  # linear RGB
    factor: Vec3 | None = (1.0, 1.0, 1.0)  # of the colour texture, linear RGB
    opacity: float | None = 1.0  # in [0, 1]
    image: ImageFile | None = None  # colour texture
    mask: ImageFile | None = None  # opacity texture
    has_more: bool = False  # whether it has anything else: emission, or vertex colours
    # Other inputs of a surface that it defines, and that its format can define, as of
    # :class:`~urdf_usd.conformance.observation.shapes.Appearance`.
    properties: Properties = ()
    unread: frozenset[str] = frozenset()

    @property
    def defines_appearance(self) -> bool:
        return self.color is not None or self.image is not None or self.has_more


def light(encoded: Sequence[float]) -> Vec3:
    """Return the linear components of an sRGB colour (IEC 61966-2-1), clamped to [0, 1]."""
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _clamped(encoded)
    )
    return red, green, blue


def _clamped(linear: Sequence[float]) -> Vec3:
    red, green, blue = (min(max(float(c), 0.0), 1.0) for c in linear[:_RGB])
    return red, green, blue


def _emitting(emission: Vec3 | None) -> Properties:
    return (("emissiveColor", emission),) if emission and any(emission) else ()


def _effective_opacity(stated: float) -> float:
    """Return an opacity in (0, 1]; zero is one, as many exporters confuse it with transparency."""
    return min(stated, 1.0) if stated > 0 else 1.0


# Parts of a surface in sequence show the same image.
@lru_cache(maxsize=2)
def image_digest(content: bytes) -> str | None:
    """Return the SHA-256 of the size and the pixels of an image, of an animated one of the first.

    Of a JPEG, and of a PNG that cannot be decoded, it is that of the bytes. It is None unless the
    image is in one of the formats that materials use.
    """
    pixels = None if content.startswith(_JPEG) else _pixels(content)
    if pixels is None and content.startswith((_JPEG, _PNG)):
        pixels = content
    return None if pixels is None else hashlib.sha256(pixels).hexdigest()


def _pixels(content: bytes) -> bytes | None:
    """Return size and pixels; None if damaged, or larger than Pillow's limit."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(content), formats=_FORMATS) as image:
                if image.mode in {"I", "F"}:
                    # No PNG has such numbers.
                    return None
                shown = image.convert("I" if image.mode[0] == "I" else "RGBA")
    # Pillow raises any exception on damaged files.
    except Exception:  # noqa: BLE001
        return None
    return f"{shown.mode} {shown.size}".encode() + shown.tobytes()


def mtl_materials(
    lines: Sequence[str], names: Sequence[str], folder: Path
) -> tuple[FileMaterial, ...]:
    """Read the materials that an OBJ file uses: one per name, empty if it is not defined."""
    # Statements by keyword in lower case, and the folder of the library.
    known: dict[str, tuple[dict[str, str], str]] = {}
    for line in lines if names else ():
        whole = folder / line.replace("\\", "/")
        # A name that may hold spaces, or several names.
        words = [folder / word for word in line.replace("\\", "/").split()]
        for library in [whole] if whole.is_file() else [path for path in words if path.is_file()]:
            statements: dict[str, str] = {}
            for statement in decoded(read_bounded(library, LARGEST_MESH)).splitlines():
                keyword, _, value = statement.strip().replace("\t", " ").partition(" ")
                if keyword.lower() == "newmtl":
                    statements = {}
                    known.setdefault(value.strip(), (statements, str(library.parent)))
                else:
                    statements[keyword.lower()] = value.strip()
    return tuple(_mtl_material(*known[name]) if name in known else FileMaterial() for name in names)


def _mtl_material(statements: dict[str, str], folder: str) -> FileMaterial:
    color, emission = _mtl_color(statements.get("kd")), _mtl_color(statements.get("ke"))
    glow = _mtl_image(statements.get("map_ke"), folder)
    solid, through = _numbers(statements.get("d", "").removeprefix("-halo")), None
    if not solid and (through := _numbers(statements.get("tr"))):
        solid = (1.0 - through[0],)
    refraction = (_numbers(statements.get("ni")) or (_FALLBACK_IOR,))[0]
    least, most = _IOR_RANGE
    refracts = least <= refraction <= most and abs(refraction - _FALLBACK_IOR) > _APART
    unread = {name for word in _UNREAD_MTL if word in statements for name in _UNREAD_MTL[word]}
    options = statements.get("map_kd", "").lower().split()
    unread |= _WRAPS if "-clamp" in options else set()
    # Options that move texture coordinates.
    unread |= {"mapping"} if {"-o", "-s", "-t"} & {*options} else set()
    return FileMaterial(
        color=color,
        # By the format a black factor makes a texture black; exporters mean no factor.
        factor=(1.0, 1.0, 1.0) if color is None else color if any(color) else None,
        opacity=_effective_opacity(solid[0]) if solid else 1.0,
        image=_mtl_image(statements.get("map_kd"), folder),
        mask=_mtl_image(statements.get("map_d"), folder),
        has_more=glow is not None or any(emission or ()),
        properties=(
            *(() if glow else _emitting(emission)),
            *((("ior", (refraction,)),) if refracts else ()),
        ),
        unread=frozenset(unread),
    )


def _mtl_color(value: str | None) -> Vec3 | None:
    """Return linear components; None for colours that are spectra or CIE XYZ."""
    numbers = _numbers(value)
    if not numbers:
        return None
    return light(numbers if len(numbers) >= _RGB else numbers[:1] * _RGB)


def _mtl_image(value: str | None, folder: str) -> ImageFile | None:
    rest = value or ""
    while option := _OPTION.match(rest):
        rest = rest[option.end() :]
    return ImageFile(rest.strip(), folder) if rest.strip() else None


def _numbers(value: str | None) -> tuple[float, ...]:
    """Return the numbers of a statement; none if it holds anything else."""
    try:
        numbers = tuple(float(word) for word in (value or "").split())
    except ValueError:
        return ()
    return numbers if all(map(math.isfinite, numbers)) else ()


def dae_material(effect: collada.material.Effect, folder: str) -> FileMaterial:
    """Read an effect of COLLADA: its diffuse colour or image, emission and opacity."""
    diffuse, glow, unread = effect.diffuse, effect.emission, set(_UNREAD_DAE)
    glows = isinstance(glow, collada.material.Map)
    emission = None
    if glows:
        unread.add("emissiveColor")
    elif glow is not None and len(glow) >= _RGB:
        emission = light([float(c) for c in glow])
    wraps = {(node.text or "").strip() for node in effect.xmlnode.iter("{*}wrap_s", "{*}wrap_t")}
    unread |= set() if wraps <= {"WRAP"} else _WRAPS
    shows_image = isinstance(diffuse, collada.material.Map)
    has_color = not shows_image and diffuse is not None and len(diffuse) >= _RGB
    opacity, mask = _dae_opacity(effect, folder)
    return FileMaterial(
        color=light([float(c) for c in diffuse]) if has_color else None,
        opacity=opacity,
        image=_dae_image(diffuse, folder) if shows_image else None,
        mask=mask,
        has_more=glows or any(emission or ()),
        properties=(
            *(((DOUBLE_SIDED, (1.0,)),) if effect.double_sided else ()),
            *_emitting(emission),
        ),
        unread=frozenset(unread),
    )


def _dae_opacity(
    effect: collada.material.Effect, folder: str
) -> tuple[float | None, ImageFile | None]:
    """Compute opacity in the mode of the effect, by default A_ONE."""
    # An absent factor is 1; pycollada returns 0 for some effects.
    shader = next(effect.xmlnode.iter(f"{{*}}{effect.shadingtype}"), None)
    stated = shader is not None and shader.find("{*}transparency") is not None
    element = None if shader is None else shader.find("{*}transparent")
    mode = "A_ONE" if element is None else element.get("opaque", "A_ONE")
    scale = effect.transparency if stated else 1.0
    scale = scale[0] if isinstance(scale, list | tuple) else scale
    transparent = effect.transparent
    is_map = isinstance(transparent, collada.material.Map)
    # The luminance of a texture is not supported by shaders.
    if not isinstance(scale, int | float) or (is_map and mode != "A_ONE"):
        return None, None
    if is_map or transparent is None:
        return _effective_opacity(scale), _dae_image(transparent, folder) if is_map else None
    *rgb, alpha = (float(c) for c in [*transparent, 1.0][:4])
    luminance = sum(part * c for part, c in zip(_LUMINANCE, rgb, strict=True))
    opaque = scale * (alpha if mode.startswith("A_") else luminance)
    return _effective_opacity(1.0 - opaque if mode.endswith("ZERO") else opaque), None


def _dae_image(texture: collada.material.Map, folder: str) -> ImageFile:
    image = texture.sampler.surface.image
    return ImageFile((image.path or image.id or "").strip(), folder)


def gltf_material(document: Json, binary: bytes, folder: str, primitive: Json) -> FileMaterial:
    """Return the material of a primitive of glTF; malformed documents raise errors of Python."""
    if "material" not in primitive:
        return FileMaterial()
    material = document["materials"][primitive["material"]]
    extensions = material.get("extensions", {})
    surface = material.get("pbrMetallicRoughness", {})
    glossy = extensions.get("KHR_materials_pbrSpecularGlossiness")
    base, diffuse = (surface, "baseColor") if glossy is None else (glossy, "diffuse")
    factor, texture = base.get(f"{diffuse}Factor", _WHITE), base.get(f"{diffuse}Texture")
    image = None if texture is None else _gltf_image(document, binary, folder, texture["index"])
    # Colours of vertices are factors as well, and vary over the surface.
    color = None if "COLOR_0" in primitive["attributes"] else _clamped(factor)
    mode = material.get("alphaMode", "OPAQUE")
    blends = mode in {"BLEND", "MASK"}
    glow = extensions.get("KHR_materials_emissive_strength", {}).get("emissiveStrength", 1.0)
    emission = _clamped([float(glow) * c for c in material.get("emissiveFactor", _BLACK)])
    properties = {name: (1.0,) for name in (DOUBLE_SIDED,) if material.get("doubleSided", False)}
    # With the fallbacks of a preview surface.
    for name, fallback in (("metallic", 0.0), ("roughness", 0.5)):
        value = min(max(float(surface.get(f"{name}Factor", 1.0)), 0.0), 1.0)
        properties |= {name: (value,)} if value != fallback else {}
    cutoff = float(material.get("alphaCutoff", 0.5))
    properties |= {"opacityThreshold": (cutoff,)} if mode == "MASK" and cutoff else {}
    unread = set(_UNREAD_GLTF)
    unread |= {"emissiveColor"} if "emissiveTexture" in material else set()
    if glossy is not None or "metallicRoughnessTexture" in surface:
        unread |= {"metallic", "roughness"}
    samplers = document.get("samplers", ())
    if {one.get(axis, _REPEAT) for one in samplers for axis in ("wrapS", "wrapT")} - {_REPEAT}:
        unread |= _WRAPS
    return FileMaterial(
        color=color,
        factor=color,
        opacity=min(max(float(factor[3]), 0.0), 1.0) if blends else 1.0,
        image=image,
        mask=image if blends else None,
        has_more=True,
        properties=tuple(sorted([*properties.items(), *_emitting(emission)])),
        unread=frozenset(unread),
    )


def _gltf_image(document: Json, binary: bytes, folder: str, number: int) -> ImageFile:
    texture = document["textures"][number]
    # Extensions may hold an alternative image.
    holders = (texture, *texture.get("extensions", {}).values())
    source = next(holder["source"] for holder in [*holders, {"source": None}] if "source" in holder)
    image = document["images"][source]
    name, uri = f"image {source}", image.get("uri", "")
    if uri:
        embedded = _data(uri)
        return ImageFile(unquote(uri) if embedded is None else name, folder, embedded)
    view = document["bufferViews"][image["bufferView"]]
    uri = document["buffers"][view["buffer"]].get("uri")
    if uri is not None and (binary := _data(uri) or b"") == b"":
        binary = read_bounded(Path(folder, unquote(uri)), LARGEST_MESH)
    start = view.get("byteOffset", 0)
    return ImageFile(image.get("name") or name, folder, binary[start : start + view["byteLength"]])


def _data(uri: str) -> bytes | None:
    """Return the content of a data URI; None of another."""
    if not uri.startswith("data:"):
        return None
    head, _, data = uri.partition(",")
    return base64.b64decode(data) if head.endswith(";base64") else unquote_to_bytes(data)
