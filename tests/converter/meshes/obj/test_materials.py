"""Material libraries of OBJ files, statement by statement."""

from __future__ import annotations

import pytest

from urdf_usd.converter.meshes.mesh_material import MeshMaterial, Sampling, Slot, Wrap
from urdf_usd.converter.meshes.obj.materials import read_libraries


def material(statements: str) -> MeshMaterial:
    """Read the one material of a library."""
    library = f"newmtl m\n{statements}\n".encode()
    libraries, absent = read_libraries(b"mtllib x/a.mtl\nusemtl m\n", lambda _: library)
    assert absent == ()
    return libraries.material("m")


@pytest.mark.parametrize(
    ("statements", "opacity"),
    [
        ("d 0.25", 0.25),
        ("d -halo 0.25", 0.25),
        ("Tr 0.25", 0.75),
        ("Tr 0.25\nd 0.5", 0.5),
        ("D 0.25", 0.25),
        # Mixed up by an exporter: nobody ships an invisible part.
        ("d 0", 1.0),
        ("Tr 1", 1.0),
        ("d x", 1.0),
        ("", 1.0),
    ],
)
def test_opacity_is_the_dissolve_or_what_transparency_leaves(
    statements: str, opacity: float
) -> None:
    """``Tr`` is the complement of ``d``, which counts if both are there."""
    assert material(statements).opacity == opacity


def test_colours_and_the_numbers_of_newer_libraries_are_read() -> None:
    """Whatever the letter case and the spaces; one number stands for three."""
    found = material("  Kd\t0.5 0.25 2\nKE 0.5\nPm 0.25\nPr 1.5\nKs 1 1 1\nillum 2")

    assert found == MeshMaterial(
        "m", (0.5, 0.25, 1.0), 1.0, (0.5, 0.5, 0.5), metallic=0.25, roughness=1.0
    )


@pytest.mark.parametrize("statement", ["Kd", "Kd 1 2", "Kd a b c", "Kd 1 nan 0"])
def test_a_colour_that_is_none_is_absent(statement: str) -> None:
    """So that the URDF's counts, and not black."""
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
def test_options_of_an_image_say_how_it_lies(options: str, sampling: Sampling) -> None:
    """What follows them is the file, which may have spaces in its name."""
    found = material(f"map_Kd {options}my skin 2.png")

    ((slot, texture),) = found.textures
    assert slot is Slot.COLOR
    assert texture.reference == "x/my skin 2.png"
    assert texture.sampling == sampling


def test_images_stand_for_colour_emission_opacity_metal_roughness_and_normals() -> None:
    """Opacity is one component: red, or the one that is asked for."""
    found = material(
        "map_Kd a.png\nmap_Ke b.png\nmap_d -imfchan m c.png\nmap_Pr d.png\n"
        "map_Pm -imfchan g d.png\nnorm e.png\nmap_Bump f.png"
    )

    parts = {
        slot: (texture.reference, texture.sampling.components)
        for slot, texture in found.textures
    }
    assert parts == {
        Slot.COLOR: ("x/a.png", "rgb"),
        Slot.EMISSION: ("x/b.png", "rgb"),
        Slot.OPACITY: ("x/c.png", "a"),
        Slot.ROUGHNESS: ("x/d.png", "r"),
        Slot.METALNESS: ("x/d.png", "g"),
        Slot.NORMAL: ("x/e.png", "rgb"),
    }


def test_opacity_of_the_image_that_gives_the_colour_is_its_alpha() -> None:
    """As exporters write it that know no other place for it."""
    found = material("map_Kd a.png\nmap_d a.png")

    assert dict(found.textures)[Slot.OPACITY].sampling.components == "a"


@pytest.mark.parametrize(
    ("color", "factor"), [("0.5 0.25 1", 0.21404114), ("0 0 0", 1.0)]
)
def test_a_colour_is_a_factor_of_its_image_unless_it_is_black(
    color: str, factor: float
) -> None:
    """The format multiplies them; exporters write black where the image counts."""
    found = material(f"Kd {color}\nmap_Kd a.png")

    ((_, texture),) = found.textures
    assert texture.sampling.gain[0] == pytest.approx(factor)


def test_a_number_beside_the_image_of_opacity_is_its_factor() -> None:
    """The specification multiplies the two."""
    found = material("map_d a.png\nd 0.5")

    ((_, texture),) = found.textures
    assert texture.sampling.gain == (0.5, 0.5, 0.5, 0.5)


def test_the_first_of_two_materials_with_one_name_counts() -> None:
    """As for the reader of the faces."""
    library = b"newmtl m\nKd 1 0 0\nnewmtl m\nKd 0 1 0\n"
    libraries, _ = read_libraries(b"mtllib x\nusemtl m\n", lambda _: library)

    assert libraries.material("m").color == (1.0, 0.0, 0.0)
