"""Input files of a robot, and files that mesh files refer to."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from urdf_usd.converter import read_urdf
from urdf_usd.converter.inputs import input_files, referred_files

_URDF = """<robot name="r"><link name="a">
<visual><geometry><mesh filename="m/body.obj"/></geometry>
<material name="skin"><texture filename="skin.png"/></material></visual>
<collision><geometry><mesh filename="m/body.obj"/></geometry></collision>
<collision><geometry><mesh filename="m/gone.obj"/></geometry></collision>
</link></robot>"""


def test_input_files_are_listed_once_with_hashes(tmp_path: Path) -> None:
    # Meshes, their references, and textures; missing files are not listed.
    (tmp_path / "m").mkdir()
    texts = {
        "r.urdf": _URDF,
        "m/body.obj": "mtllib body.mtl\n",
        # A library that refers to itself.
        "m/body.mtl": "newmtl a\nmap_Kd paint.png\nmap_Ks body.mtl\n",
        "m/paint.png": "paint",
        "skin.png": "skin",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    robot = read_urdf(tmp_path / "r.urdf").robot

    files = input_files([str(tmp_path / "r.urdf")], robot)

    found = [Path(file.path).relative_to(tmp_path).as_posix() for file in files]
    assert found == list(texts)
    for name, file in zip(found, files, strict=True):
        content = texts[name].encode()
        assert (file.sha256, file.size) == (hashlib.sha256(content).hexdigest(), len(content))


# An image in a comment, and one with a namespace prefix; nothing before the last one is skipped.
_PREFIXED = """<d:image xmlns:d="c"><!-- <init_from>sub/paint.png</init_from> -->
<d:init_from mips="1">one&amp;two.png</d:init_from></d:image>"""
_BEFORE_AND_AFTER = """<COLLADA><image><init_from>paint.png</init_from></image><mesh/>
<c:image><c:init_from> lasté.png </c:init_from></c:image><!-- init_from --><mesh/></COLLADA>"""


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        # As exporters write them: with options, in other folders, percent-encoded.
        ("a.obj", "v 0 0 0\nmtllib look a.mtl\nf 1 1 1", "look a.mtl"),
        ("a.mtl", "newmtl m\n map_Kd -s 1 1 1 paint.png\r\n", "paint.png"),
        ("a.mtl", "map_Kd C:\\artist\\paint.png", "paint.png"),
        ("a.dae", "<image><init_from>file://paint.png</init_from>", "paint.png"),
        ("a.dae", "<init_from><ref>look%20a.mtl</ref></init_from>", "look a.mtl"),
        ("a.dae", "<init_from>one&amp;two.png</init_from>", "one&two.png"),
        ("a.dae", _PREFIXED, "one&two.png"),
        ("a.dae", "<a><init_from>paint.png</init_from><b></a>", "paint.png"),
        ("a.dae", _BEFORE_AND_AFTER, "paint.png|lasté.png"),
        ("a.glb", 'glTF{"images":[{"uri": "sub/paint.png"}]}', "sub/paint.png"),
        # The file ends early; one name with spaces, or several names.
        ("a.dae", "<COLLADA><init_from>paint.png</init_from><mesh><init_from", "paint.png"),
        (
            "a.obj",
            "mtllib x.mtl missing.mtl sub/b.mtl\nmtllib look a.mtl",
            "x.mtl|sub/b.mtl|look a.mtl",
        ),
        # Files that do not exist, and text that is no reference.
        *(("a.obj", text, "") for text in ("", "solid a", "mtllib missing.mtl", "mtllib \0")),
        ("a.obj", '"uri": "data:image/png;base64,AAAA"', ""),
        ("a.obj", "# mtllib x.mtl\nxmtllib x.mtl", ""),
        ("a.obj", f"mtllib {'x' * 5000}", ""),
        ("a.obj", "<init_from> </init_from>", ""),
        ("a.obj", '<!DOCTYPE a [<!ENTITY e "x.mtl">]><init_from>&e;</init_from>', ""),
    ],
)
def test_references_of_every_format_are_found(
    tmp_path: Path, name: str, content: str, found: str
) -> None:
    files = ("look a.mtl", "paint.png", "one&two.png", "lasté.png")
    (tmp_path / "sub").mkdir()
    for file in (*files, "sub/paint.png", "x.mtl", "sub/b.mtl"):
        (tmp_path / file).touch()

    expected = {tmp_path / file for file in found.split("|") if file}
    assert set(referred_files(content.encode(), tmp_path / name)) == expected
