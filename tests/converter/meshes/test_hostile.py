"""Mesh files with false sizes, without end, or that expand in memory."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from urdf_usd.converter.meshes.mesh import MeshError
from urdf_usd.converter.meshes.read import decode_mesh, read_mesh

OBJ = b"v 0 0 0\nv 1 0 0\nv 0 2 0\nf 1 2 3\n"


def _reason(path: Path) -> str:
    with pytest.raises(MeshError) as caught:
        read_mesh(path)
    return caught.value.reason


def test_announced_triangle_count_allocates_nothing(tmp_path: Path) -> None:
    """The size of the file limits the count."""
    file = tmp_path / "lying.stl"
    file.write_bytes(bytes(80) + struct.pack("<I", 2**31 // 50) + bytes(50))

    assert _reason(file) == "it announces 42949672 triangles but holds 1"


def test_file_of_two_gigabytes_is_not_read(tmp_path: Path) -> None:
    """Even with a correct header; the file is sparse."""
    file = tmp_path / "large.stl"
    with file.open("wb") as sparse:
        sparse.write(bytes(80) + struct.pack("<I", 2**31 // 50))
        sparse.truncate(84 + 2**31 // 50 * 50)

    assert _reason(file) == "it cannot be opened: it is larger than 256 MiB"


@pytest.mark.parametrize("reference", ["/dev/zero", "../../../../../dev/zero"])
def test_endless_material_library_is_not_read(tmp_path: Path, reference: str) -> None:
    """The surface is read."""
    file = tmp_path / "a.obj"
    file.write_bytes(f"mtllib {reference}\nusemtl a\n".encode() + OBJ)

    assert len(read_mesh(file).face_counts) == 1


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY a0 "0 0 0 "><!ENTITY a1 "{}"><!ENTITY a2 "{}">'.format(
            "&a0;" * 1000, "&a1;" * 1000
        ),
        '<!ENTITY a2 SYSTEM "file:///etc/passwd">',
    ],
    ids=["amplification", "external"],
)
def test_collada_entities_are_refused(tmp_path: Path, declaration: str) -> None:
    """A few kilobytes could expand to gigabytes, or include other files."""
    file = tmp_path / "bomb.dae"
    numbers = "".join(f"<a>&a2;{index}</a>" for index in range(40))
    file.write_text(f"<!DOCTYPE r [{declaration}]><COLLADA>{numbers}</COLLADA>")

    assert "it is not well-formed XML" in _reason(file)


def test_exponential_instances_are_refused(tmp_path: Path) -> None:
    """Twenty nodes can instance a geometry a million times."""
    doubling = "".join(
        f'<node id="n{i}"><instance_node url="#n{i + 1}"/><instance_node url="#n{i + 1}"/></node>'
        for i in range(20)
    )
    file = tmp_path / "doubling.dae"
    file.write_text(
        f'<COLLADA><library_nodes>{doubling}<node id="n20"/></library_nodes>'
        '<library_visual_scenes><visual_scene id="s"><node>'
        '<instance_node url="#n0"/></node></visual_scene></library_visual_scenes>'
        '<scene><instance_visual_scene url="#s"/></scene></COLLADA>'
    )

    assert _reason(file) == "its instances exceed the limit"


@pytest.mark.parametrize("number", ["1e39", "-1e300", "1e308"])
def test_positions_beyond_float32_are_refused(number: str) -> None:
    """They would become infinite; such texture coordinates are left out."""
    coordinates = f"vt 0 0\nvt {number} 0\nvt 0 1\n".encode()
    mapped = coordinates + OBJ.replace(b"f 1 2 3", b"f 1/1 2/2 3/3")

    with pytest.raises(MeshError, match=r"single precision|not finite"):
        decode_mesh(OBJ.replace(b"v 1", f"v {number}".encode()), Path("a.obj"))
    assert decode_mesh(mapped, Path("a.obj")).attributes.texture_coordinates is None


def test_inconsistent_ply_is_refused() -> None:
    """As the missing surface."""
    text = b"ply\nformat ascii 1.0\nelement vertex 1\nproperty list uchar int x\n"

    with pytest.raises(MeshError, match=r"PLY is broken|no faces"):
        decode_mesh(text + b"end_header\n1 1\n", Path("a.ply"))


def test_material_names_need_not_be_utf_8(tmp_path: Path) -> None:
    """Old exporters write the encoding of their system."""
    name = "Grün"
    (tmp_path / "a.mtl").write_bytes(f"newmtl {name}\nKd 0 1 0\n".encode("latin-1"))
    file = tmp_path / "a.obj"
    file.write_bytes(f"mtllib a.mtl\nusemtl {name}\n".encode("latin-1") + OBJ)

    material = read_mesh(file).attributes.materials[0]

    assert (material.name, material.color) == (name, (0, 1, 0))


def _document(geometry: str, nodes: str, scene: str) -> str:
    """Return a COLLADA document of one triangle, with other elements."""
    return f"""<COLLADA><library_geometries><geometry id="g"><mesh><source id="p">
<float_array count="9">0 0 0 1 0 0 0 2 0</float_array><technique_common>
<accessor count="3" stride="3"><param name="X"/><param name="Y"/><param name="Z"/>
</accessor></technique_common></source><vertices id="v">
<input semantic="POSITION" source="#p"/></vertices>{geometry}<triangles count="1">
<input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles></mesh>
</geometry></library_geometries>{nodes}<library_visual_scenes><visual_scene id="s">
{scene}</visual_scene></library_visual_scenes><scene>
<instance_visual_scene url="#s"/></scene></COLLADA>"""


def test_nodes_may_be_defined_after_their_instances(tmp_path: Path) -> None:
    """In any number of libraries, in linear time."""
    last = 3000
    chain = "".join(
        f'<library_nodes><node id="n{i}"><translate>0 0 0.5</translate>'
        f'<instance_node url="#n{i + 1}"/></node></library_nodes>'
        for i in range(last)
    )
    chain += f'<library_nodes><node id="n{last}"><instance_geometry url="#g"/></node>'
    file = tmp_path / "chain.dae"
    scene = '<node><instance_node url="#n0"/></node>'
    file.write_text(_document("", f"{chain}</library_nodes>", scene))

    mesh = read_mesh(file)

    assert mesh.points[:, 2].tolist() == [last / 2] * 3


def test_cyclic_node_instances_are_refused(tmp_path: Path) -> None:
    """Expanding them would not end."""
    ring = "".join(f'<node id="n{i}"><instance_node url="#n{1 - i}"/></node>' for i in (0, 1))
    file = tmp_path / "ring.dae"
    scene = '<node><instance_node url="#n0"/></node>'
    file.write_text(_document("", f"<library_nodes>{ring}</library_nodes>", scene))

    assert _reason(file) == "its instances exceed the limit"


def test_many_faults_of_one_file_are_summarised(tmp_path: Path) -> None:
    """A file may have a million references to missing files of any length."""
    missing = "".join(f'<instance_geometry url="#{"x" * 1000}{i}"/>' for i in range(500))
    file = tmp_path / "missing.dae"
    scene = f'<node><instance_geometry url="#g"/>{missing}</node>'
    file.write_text(_document("", "", scene))

    message = read_mesh(file).skipped

    assert len(message) == 21
    assert message[-1] == "there are 480 more faults"
    assert max(map(len, message)) == 300


def test_stl_facet_of_very_many_corners_is_refused() -> None:
    """Every corner would become a triangle."""
    corners = b"vertex 0 1 5\n" * 100_000
    facet = b"facet normal 0 0 1 outer loop\n" + corners + b"endloop endfacet\n"

    with pytest.raises(MeshError, match="STL is broken"):
        decode_mesh(b"solid a\n" + facet + b"endsolid a\n", Path("a.stl"))


@pytest.mark.parametrize("count", [2**32 - 1, 4 * 10**9, 10**30, -3])
@pytest.mark.parametrize("element", ["vertex", "face"])
@pytest.mark.parametrize("form", ["ascii", "binary_little_endian"])
def test_false_ply_counts_allocate_nothing(form: str, element: str, count: int) -> None:
    """The file is refused, or read up to its end."""
    counts = {"vertex": 3, "face": 1} | {element: count}
    numbers = "".join(f"property float {axis}\n" for axis in "xyz")
    text = f"ply\nformat {form} 1.0\nelement vertex {counts['vertex']}\n{numbers}"
    text += f"element face {counts['face']}\nproperty list uchar int vertex_indices\n"
    body = b"0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n" * 4

    with pytest.raises(MeshError):
        decode_mesh(f"{text}end_header\n".encode() + body, Path("a.ply"))


def test_very_many_objects_are_one_surface() -> None:
    """Their names use no memory."""
    objects = b"".join(b"o part%d\nf 1 2 3\ng x y\nf 3 2 1\n" % i for i in range(999))

    mesh = decode_mesh(OBJ + objects, Path("a.obj"))

    assert len(mesh.face_counts) == 1 + 2 * 999


def test_cyclic_gltf_nodes_use_no_memory() -> None:
    """Each level of the cycle would double the nodes."""
    ring = '{"asset": {"version": "2.0"}, "scenes": [{"nodes": [0]}], "nodes": [%s]}'
    node = f'{{"children": [{", ".join(["0"] * 150_000)}]}}'

    with pytest.raises(MeshError, match="exceed the limit"):
        decode_mesh((ring % node).encode(), Path("a.gltf"))
