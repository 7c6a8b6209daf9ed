"""Material libraries of OBJ files, statement by statement."""

from __future__ import annotations

import pytest

from urdf_usd.converter.meshes.mesh_materials import MeshMaterial, Sampling, Slot, Wrap
from urdf_usd.converter.meshes.obj import read_libraries


def material(statements: str) -> MeshMaterial:
    """Read the one material of a library."""
    library = f"newmtl m\n{statements}\n".encode()
    libraries, absent = read_libraries(b"\nmtllib x/a.mtl\nusemtl m\n", lambda _: library)
    assert absent == ()
    return libraries["m"]


@pytest.mark.parametrize(
    ("statements", "opacity"),
    [
        ("d 0.25", 0.25),
        ("d -halo 0.25", 0.25),
        ("Tr 0.25", 0.75),
        ("Tr 0.25\nd 0.5", 0.5),
        ("D 0.25", 0.25),
        # Some exporters invert opacity: a fully transparent material is not intended.
        ("d 0", 1.0),
        ("Tr 1", 1.0),
        ("d x", 1.0),
        ("", 1.0),
    ],
)
def test_opacity_is_dissolve_or_one_minus_transparency(statements: str, opacity: float) -> None:
    """``Tr`` is the complement of ``d``, which has priority."""
    assert material(statements).opacity == opacity


def test_colours_and_pbr_values_are_read() -> None:
    """In any letter case; one number is used for three components."""
    found = material("  Kd\t0.5 0.25 2\nKE 0.5\nPm 0.25\nPr 1.5\nKs 1 1 1\nillum 2")

    assert found == MeshMaterial(
        "m", (0.5, 0.25, 1.0), 1.0, (0.5, 0.5, 0.5), metallic=0.25, roughness=1.0
    )


@pytest.mark.parametrize(
    ("statements", "ior"),
    [
        ("Ni 1.33", 1.33),
        ("NI 1", 1.0),
        # The format allows 0.001 to 10.
        ("Ni 0", None),
        ("Ni 11", None),
        ("Ni x", None),
        ("Ni", None),
        ("", None),
    ],
)
def test_index_of_refraction_is_read(statements: str, ior: float | None) -> None:
    """Values that the format does not allow are ignored."""
    assert material(statements).ior == ior


@pytest.mark.parametrize("statement", ["Kd", "Kd 1 2", "Kd a b c", "Kd 1 nan 0"])
def test_invalid_colour_is_absent(statement: str) -> None:
    """The colour of the URDF is used then, and not black."""
    assert material(statement).color is None
    assert not material(statement).has_color


@pytest.mark.parametrize(
    ("options", "sampling"),
    [
        ("", Sampling()),
        ("-clamp on ", Sampling(wrap_s=Wrap.CLAMP, wrap_t=Wrap.CLAMP)),
        ("-clamp off ", Sampling()),
        ("-s 2 3 1 ", Sampling(scale=(2.0, 3.0))),
        ("-s 2 ", Sampling(scale=(2.0, 1.0))),
        (
            "-o 0.25 -0.5 0 -s 2 3 ",
            Sampling(scale=(2.0, 3.0), translation=(0.25, -0.5)),
        ),
        ("-mm 0 1 -texres 256 -blendu on -BM 0.5 -t 0 ", Sampling()),
    ],
)
def test_texture_options_are_read(options: str, sampling: Sampling) -> None:
    """The rest of the line is the file name, which may contain spaces."""
    found = material(f"map_Kd {options}my skin 2.png")

    ((slot, texture),) = found.textures
    assert slot is Slot.COLOR
    assert texture.reference == "x/my skin 2.png"
    assert texture.sampling == sampling


def test_textures_of_all_inputs_are_read() -> None:
    """Opacity is one channel: red, or the one of ``-imfchan``."""
    found = material(
        "map_Kd a.png\nmap_Ke b.png\nmap_d -imfchan m c.png\nmap_Pr d.png\n"
        "map_Pm -imfchan g d.png\nnorm e.png\nmap_Bump f.png"
    )

    parts = {
        slot: (texture.reference, texture.sampling.components) for slot, texture in found.textures
    }
    assert parts == {
        Slot.COLOR: ("x/a.png", "rgb"),
        Slot.EMISSION: ("x/b.png", "rgb"),
        Slot.OPACITY: ("x/c.png", "a"),
        Slot.ROUGHNESS: ("x/d.png", "r"),
        Slot.METALNESS: ("x/d.png", "g"),
        Slot.NORMAL: ("x/e.png", "rgb"),
    }


def test_opacity_texture_equal_to_the_colour_texture_uses_its_alpha() -> None:
    """Exporters write it this way."""
    found = material("map_Kd a.png\nmap_d a.png")

    assert dict(found.textures)[Slot.OPACITY].sampling.components == "a"


@pytest.mark.parametrize(("color", "factor"), [("0.5 0.25 1", 0.21404114), ("0 0 0", 1.0)])
def test_colour_is_a_factor_of_its_texture_unless_black(color: str, factor: float) -> None:
    """MTL multiplies them, but exporters write black with a texture."""
    found = material(f"Kd {color}\nmap_Kd a.png")

    ((_, texture),) = found.textures
    assert texture.sampling.gain[0] == pytest.approx(factor)


def test_dissolve_is_a_factor_of_the_opacity_texture() -> None:
    """The specification multiplies the two."""
    found = material("map_d a.png\nd 0.5")

    ((_, texture),) = found.textures
    assert texture.sampling.gain == (0.5, 0.5, 0.5, 0.5)


def test_first_of_two_materials_with_the_same_name_is_used() -> None:
    """As in the reader of faces."""
    library = b"newmtl m\nKd 1 0 0\nnewmtl m\nKd 0 1 0\n"
    libraries, _ = read_libraries(b"\nmtllib x\nusemtl m\n", lambda _: library)

    assert libraries["m"].color == (1.0, 0.0, 0.0)
