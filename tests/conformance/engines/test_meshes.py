"""Mesh files as the harness reads them, and appearances as their materials define them.

What is read of small files is stored, see ``test_stored.py``.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from tests.conformance.engines.engine_requests import AT_REST
from tests.conformance.engines.test_stored import MESHES
from tests.converter.usd.textured_meshes import png
from tests.stored_cases import stored_cases, write_files
from urdf_usd.conformance.engines.mesh_materials import (
    LARGEST_IMAGE,
    LARGEST_MESH,
    FileMaterial,
    ImageFile,
    image_digest,
)
from urdf_usd.conformance.engines.meshes import UnreadMeshError, load_mesh
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Observed, Request
from urdf_usd.conformance.engines.reference import ReferenceEngine, forget_readings
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.observation.shapes import Appearance, Role
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter import convert
from urdf_usd.reports.records.record import CheckRecord, Grade

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="files are POSIX")
CASES = stored_cases(MESHES)
# sRGB components and their linear values, from the table of IEC 61966-2-1.
HALF_LIGHT, FIFTH_LIGHT = 0.21404114, 0.03310477
PAINT = '<material name="own"><color rgba="0.5 0 1 0.25"/></material>'
# With triangles of 0.5, 1 and 1.5 m^2, of which the first has no material.
AREAS = "obj: obj materials have areas and the urdf colour fills the rest"


def _unread(path: Path, content: str | None = None) -> str:
    if content is not None:
        path.write_text(content)
        forget_readings()
    with pytest.raises(UnreadMeshError) as raised:
        load_mesh(str(path))
    return str(raised.value)


# Few different numbers, so that corners are equal, also in one or two coordinates.
_NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-40, 3e38]) | st.floats(
    width=32, allow_nan=False, allow_infinity=False
)


@given(arrays(np.float32, st.tuples(st.integers(1, 8), *[st.just(3)] * 2), elements=_NUMBERS))
def test_equal_corners_of_binary_stl_are_one_point(
    tmp_path_factory: pytest.TempPathFactory, corners: np.ndarray
) -> None:
    """Triangles have the same corners in the same order."""
    records = b"".join(struct.pack("<12fH", 0, 0, 0, *one.ravel().tolist(), 0) for one in corners)
    path = tmp_path_factory.mktemp("stl") / "part.stl"
    path.write_bytes(bytes(80) + struct.pack("<I", len(corners)) + records)
    mesh = load_mesh(str(path))

    np.testing.assert_array_equal(mesh.points[mesh.triangles], corners)
    assert len(mesh.points) == len({point.tobytes() for point in corners.reshape(-1, 3)})


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _large(size: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.touch()
        os.truncate(path, size + 1)

    return make


@POSIX
@pytest.mark.parametrize("suffix", ["stl", "obj", "dae", "ply", "glb", "off"])
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_device, "is not a regular file"),
        (os.mkfifo, "is not a regular file"),
        (_large(LARGEST_MESH), "is larger than 256 MiB"),
    ],
    ids=["device", "pipe", "large"],
)
def test_mesh_without_end_is_not_opened(
    tmp_path: Path, suffix: str, make: Callable[[Path], None], reason: str
) -> None:
    path = tmp_path / f"m.{suffix}"
    make(path)

    assert _unread(path) == f"m.{suffix} {reason}"


@POSIX
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_device, "t.png is not a regular file"),
        (os.mkfifo, "t.png is not a regular file"),
        (_large(LARGEST_IMAGE), "t.png is larger than 128 MiB"),
    ],
)
def test_texture_without_end_is_not_opened(
    tmp_path: Path, make: Callable[[Path], None], reason: str
) -> None:
    assert ImageFile("t.png", str(tmp_path)).read() == "is not found"
    make(tmp_path / "t.png")

    assert ImageFile("t.png", str(tmp_path)).read() == f"cannot be read: {reason}"


@POSIX
def test_file_without_end_that_a_mesh_names_is_not_opened(tmp_path: Path) -> None:
    """A material library that is not a regular file counts as missing."""
    obj = write_files(CASES[AREAS], tmp_path)
    library = tmp_path / "looks.mtl"
    library.unlink()
    os.mkfifo(library)
    assert not any(one.defines_appearance for one in load_mesh(str(obj)).materials)
    library.unlink()
    _large(LARGEST_MESH)(library)
    assert _unread(obj, obj.read_text()) == "looks.mtl is larger than 256 MiB"

    os.mkfifo(tmp_path / "b.bin")
    case = CASES["gltf: primitives of gltf have their own materials"]
    document = json.loads(case["part.gltf"])
    document["buffers"][0]["uri"] = "b.bin"
    image = {"images": [{"bufferView": 0, "mimeType": "image/png"}], "textures": [{"source": 0}]}
    texture = {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}
    for more in ({}, image | {"materials": [texture] * 4}):
        text = json.dumps(document | more)
        assert "b.bin is not a regular file" in _unread(tmp_path / "m.gltf", text)


def _read(folder: Path, mesh: str, material: str = "", scale: str = "") -> Observation:
    (folder / "robot.urdf").write_text(
        f'<robot name="r"><link name="a"><visual><geometry><mesh filename="{mesh}" '
        f"{scale}/></geometry>{material}</visual></link></robot>"
    )
    return ReferenceEngine().observe(Request(str(folder / "robot.urdf"), AT_REST))


def _looks(reading: Observation) -> tuple[Appearance, ...]:
    (shape,) = (shape for shape in reading.shapes if shape.role is Role.VISUAL)
    return tuple(sorted(shape.appearances, key=lambda look: look.area))


def _checks(folder: Path, reading: Observation) -> dict[str, CheckRecord]:
    layer = convert(folder / "robot.urdf", folder / "asset").root_layer
    usd = OpenusdEngine().observe(Request(str(layer), AT_REST))
    judgement = judge({"reference": Observed(reading)}, Observed(usd))
    return {check.id: check for check in judgement.checks}


def _mesh(folder: Path, case: str) -> str:
    """Write a mesh file and the images that it may name."""
    (folder / "skin image.png").write_bytes(png(80))
    (folder / "skin.png").write_bytes(png(80))
    (folder / "mask.png").write_bytes(png(120))
    return write_files(CASES[case], folder).name


def _digest(content: bytes) -> str:
    with Image.open(BytesIO(content)) as image:
        shown = image.convert("RGBA")
    size = f"RGBA {shown.size}".encode()
    return hashlib.sha256(size + shown.tobytes()).hexdigest()


def test_materials_have_areas_and_the_urdf_colour_fills_the_rest(tmp_path: Path) -> None:
    """Areas include the scale of the mesh."""
    reading = _read(tmp_path, _mesh(tmp_path, AREAS), PAINT, 'scale="2 2 2"')
    own, red, skin = _looks(reading)

    assert (own.area, red.area, skin.area) == pytest.approx((2.0, 4.0, 6.0))
    assert own.color == pytest.approx((HALF_LIGHT, 0.0, 1.0), abs=1e-7)
    assert (own.opacity, red.opacity, skin.opacity) == (0.25, 0.75, 0.5)
    assert red.color == pytest.approx((HALF_LIGHT, FIFTH_LIGHT, 1.0), abs=1e-7)
    # The colour is a factor of the texture.
    assert skin.color == pytest.approx((FIFTH_LIGHT, HALF_LIGHT, HALF_LIGHT), abs=1e-7)
    assert (skin.texture, skin.image) == (_digest(png(80)), "skin image.png")
    assert skin.mask == _digest(png(120))


def test_changed_material_library_is_read_again(tmp_path: Path) -> None:
    """The mesh that names it is unchanged."""
    obj = str(tmp_path / _mesh(tmp_path, AREAS))
    before = load_mesh(obj)
    (tmp_path / "looks.mtl").write_text("newmtl skin\nKd 1\n")
    forget_readings()
    after = load_mesh(obj)

    assert before.materials[1].image is not None
    assert after.materials == (FileMaterial(), FileMaterial((1, 1, 1), (1, 1, 1)))


_LOOKS = ("colour", "opacity", "texture")
_MAPPED = ("colour", "texture", "mapping")


@pytest.mark.parametrize(
    ("case", "material", "exact"),
    [
        (AREAS, PAINT, _LOOKS),
        ("dae: collada materials have areas", PAINT, _LOOKS),
        ("dae: opacity texture is reported with its factor", PAINT, _LOOKS),
        ("glb: gltf factors are linear and alpha needs blend mode", PAINT, _LOOKS),
        (
            "ply: conversion keeps texture coordinates of ply 1",
            '<material name="m"><texture filename="skin.png"/></material>',
            _MAPPED,
        ),
        ("ply: conversion keeps texture coordinates of ply 2", "", _MAPPED),
    ],
)
def test_conversion_keeps_materials_exactly(
    case: str, material: str, exact: tuple[str, ...], tmp_path: Path
) -> None:
    checks = _checks(tmp_path, _read(tmp_path, _mesh(tmp_path, case), material))

    assert {checks[f"visual.{check}"].grade for check in exact} == {Grade.EXACT}
    assert Grade.FAILS not in {check.grade for check in checks.values()}


@pytest.mark.parametrize("number", [1, 2])
def test_collada_image_that_is_not_there_costs_its_texture_alone(
    number: int, tmp_path: Path
) -> None:
    case = f"dae: collada image that is not there costs its texture alone {number}"
    checks = _checks(tmp_path, _read(tmp_path, _mesh(tmp_path, case)))

    grades = {check.grade for check in checks.values()}
    assert checks["visual.texture"].grade is Grade.NOT_COMPARABLE
    assert "is not found" in checks["visual.texture"].findings[0].message
    assert checks["visual.area"].grade is Grade.EXACT
    assert grades == {Grade.EXACT, Grade.NOT_COMPARABLE, Grade.NOT_APPLICABLE}


@pytest.mark.parametrize("form", ["GIF", "TIFF", "BMP", "TGA"])
def test_images_in_other_formats_are_compared_by_pixels(form: str, tmp_path: Path) -> None:
    """With the PNG that the converter makes of them."""
    mesh = _mesh(tmp_path, AREAS)
    Image.effect_noise((8, 8), 80.0).save(tmp_path / "skin image.png", form)

    check = _checks(tmp_path, _read(tmp_path, mesh))["visual.texture"]

    assert check.grade is Grade.EXACT


def test_image_with_one_other_pixel_has_another_digest() -> None:
    image = Image.effect_noise((8, 8), 80.0).convert("RGB")
    digests = set()
    for form in ("PNG", "TIFF", "BMP", "TGA"):
        image.save(encoded := BytesIO(), form)
        digests.add(image_digest(encoded.getvalue()))
    image.putpixel((3, 5), (1, 2, 3))
    image.save(changed := BytesIO(), "PNG")

    assert len(digests) == 1
    assert image_digest(changed.getvalue()) not in digests


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "is not found"), (b"GIF89a", "is no image that can be read")],
)
def test_unusable_texture_is_not_compared(
    content: bytes | None, reason: str, tmp_path: Path
) -> None:
    """No USD could contain it."""
    mesh = _mesh(tmp_path, AREAS)
    (tmp_path / "skin image.png").unlink()
    if content:
        (tmp_path / "skin image.png").write_bytes(content)
    reading = _read(tmp_path, mesh)
    check = _checks(tmp_path, reading)["visual.texture"]

    assert _looks(reading)[-1].problem == f"texture skin image.png {reason}"
    assert check.grade is Grade.NOT_COMPARABLE
