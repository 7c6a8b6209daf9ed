"""Input files of a robot."""

from __future__ import annotations

import hashlib
from pathlib import Path

from urdf_usd.converter import read_urdf
from urdf_usd.converter.inputs import input_files

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
    assert found == ["r.urdf", "m/body.obj", "m/body.mtl", "m/paint.png", "skin.png"]
    for name, file in zip(found, files, strict=True):
        content = texts[name].encode()
        assert file.sha256 == hashlib.sha256(content).hexdigest()
        assert file.size == len(content)
