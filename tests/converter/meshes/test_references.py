"""Files that mesh files refer to."""

from __future__ import annotations

from pathlib import Path

import pytest

from urdf_usd.converter.inputs import referred_files

# An image in a comment, and one with a namespace prefix.
PREFIXED = b"""<d:image xmlns:d="c"><!-- <init_from>sub/paint.png</init_from> -->
<d:init_from mips="1">one&amp;two.png</d:init_from></d:image>"""


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.obj", b"v 0 0 0\nmtllib look a.mtl\nf 1 1 1", "look a.mtl"),
        ("a.mtl", b"newmtl m\n map_Kd -s 1 1 1 paint.png\r\n", "paint.png"),
        ("a.mtl", b"map_Kd C:\\artist\\paint.png", "paint.png"),
        ("a.dae", b"<image><init_from>file://paint.png</init_from>", "paint.png"),
        ("a.dae", b"<init_from><ref>look%20a.mtl</ref></init_from>", "look a.mtl"),
        ("a.dae", b"<init_from>one&amp;two.png</init_from>", "one&two.png"),
        ("a.dae", PREFIXED, "one&two.png"),
        ("a.dae", b"<a><init_from>paint.png</init_from><b></a>", "paint.png"),
        ("a.glb", b'glTF{"images":[{"uri": "sub/paint.png"}]}', "sub/paint.png"),
        # The file ends early; one name with spaces, or several names.
        ("a.dae", b"<COLLADA><init_from>paint.png</init_from><mesh><init_from", "paint.png"),
        (
            "a.obj",
            b"mtllib x.mtl missing.mtl sub/b.mtl\nmtllib look a.mtl",
            "x.mtl|sub/b.mtl|look a.mtl",
        ),
    ],
)
def test_references_of_every_format_are_found(
    tmp_path: Path, name: str, content: bytes, found: str
) -> None:
    # As exporters write them: with options, in other folders, percent-encoded.
    (tmp_path / "sub").mkdir()
    for file in ("look a.mtl", "paint.png", "one&two.png", "sub/paint.png", "x.mtl", "sub/b.mtl"):
        (tmp_path / file).touch()

    expected = {tmp_path / file for file in found.split("|")}
    assert set(referred_files(content, tmp_path / name)) == expected


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"solid a",
        b"mtllib missing.mtl",
        b'"uri": "data:image/png;base64,AAAA"',
        b"mtllib \0",
        b"# mtllib there.mtl\nxmtllib there.mtl",
        b"mtllib " + b"x" * 5000,
        b"<init_from> </init_from>",
        b'<!DOCTYPE a [<!ENTITY e "there.mtl">]><init_from>&e;</init_from>',
    ],
)
def test_missing_files_are_not_listed(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "there.mtl").touch()
    assert referred_files(content, tmp_path / "a.obj") == ()


def test_images_of_collada_before_and_after_meshes_are_found(tmp_path: Path) -> None:
    # The search ends at the last reference; nothing before it is skipped.
    files = [tmp_path / "first.png", tmp_path / "last\N{LATIN SMALL LETTER E WITH ACUTE}.png"]
    for file in files:
        file.write_bytes(b"")
    text = (
        f"<COLLADA><image><init_from>{files[0].name}</init_from></image><mesh><p>0 1 2</p></mesh>"
        f"<c:image><c:init_from> {files[1].name} </c:init_from></c:image>"
        "<!-- init_from --><mesh><p>2 1 0</p></mesh></COLLADA>"
    )

    assert referred_files(text.encode(), tmp_path / "mesh.dae") == tuple(files)
