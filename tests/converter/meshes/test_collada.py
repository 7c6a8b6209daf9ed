"""COLLADA: frames, instances, and unsupported parts that are left out."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pybullet
import pybullet_data
import pytest
from numpy.typing import NDArray

from urdf_usd.converter.meshes.collada import read_dae
from urdf_usd.converter.meshes.mesh import MeshError, PolygonMesh
from urdf_usd.converter.meshes.read import read_mesh

# A tetrahedron without symmetry, counter-clockwise seen from outside.
CORNERS: NDArray[np.float64] = np.array(
    [[0.0, 0.125, 0.25], [1.5, 0.0, -0.25], [0.5, 1.25, 0.0], [0.25, 0.5, 2.0]]
)
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
TRIANGLES = (
    '<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>'
    f"<p>{' '.join(map(str, FACES.ravel()))}</p></triangles>"
)
INSTANCE = '<instance_geometry url="#g"/>'


def geometry(primitives: str = TRIANGLES, vertices: str = "") -> str:
    numbers = " ".join(map(str, CORNERS.ravel()))
    return f"""<geometry id="g"><mesh>
      <source id="s"><float_array id="a" count="12">{numbers}</float_array>
        <technique_common><accessor source="#a" count="4" stride="3">
          <param name="X" type="float"/><param name="Y" type="float"/>
          <param name="Z" type="float"/></accessor></technique_common></source>
      <vertices id="v"><input semantic="POSITION" source="#s"/>{vertices}</vertices>
      {primitives}</mesh></geometry>"""


def document(
    nodes: str = f"<node>{INSTANCE}</node>",
    shape: str | None = None,
    asset: str = "<up_axis>Z_UP</up_axis>",
    libraries: str = "",
) -> str:
    """Write a document; ``nodes`` are the scene."""
    return f"""<?xml version="1.0" encoding="utf-8"?>
    <COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
      <asset>{asset}</asset>{libraries}
      <library_geometries>{shape or geometry()}</library_geometries>
      <library_visual_scenes><visual_scene id="scene">{nodes}</visual_scene>
      </library_visual_scenes>
      <scene><instance_visual_scene url="#scene"/></scene></COLLADA>"""


def read(text: str | bytes) -> PolygonMesh:
    return read_dae(text if isinstance(text, bytes) else text.encode())


def assert_tetrahedron(mesh: PolygonMesh) -> None:
    """Assert that the mesh is the untransformed tetrahedron, and complete."""
    assert mesh.face_counts.tolist() == [3, 3, 3, 3]
    corners = mesh.points[mesh.face_indices.reshape(-1, 3)]
    np.testing.assert_array_equal(corners, CORNERS[FACES])


def shifted(*offset: float) -> NDArray[np.float64]:
    return np.add(CORNERS, offset)


def signed_volume(mesh: PolygonMesh) -> float:
    """Return the volume of a mesh of triangles; positive if they face outwards."""
    corners = mesh.points[mesh.face_indices.reshape(-1, 3)]
    return float(np.linalg.det(corners).sum()) / 6


# A sixth of the triple product of the edges that meet in the first corner.
VOLUME = float(np.linalg.det(CORNERS[1:] - CORNERS[0])) / 6


def test_numbers_of_a_simple_document_are_exact() -> None:
    mesh = read(document())

    assert_tetrahedron(mesh)
    assert mesh.ignored_up_axis is None
    assert mesh.skipped == ()
    assert signed_volume(mesh) == pytest.approx(VOLUME)


def test_units_apply_to_node_transforms() -> None:
    """Translations are in the document's unit as well."""
    nodes = f"<node><translate>10 0 -20</translate>{INSTANCE}</node>"

    mesh = read(document(nodes, asset='<unit name="cm" meter="0.01"/>'))

    np.testing.assert_allclose(mesh.points, shifted(10, 0, -20) * 0.01, rtol=1e-7)


@pytest.mark.parametrize(
    ("asset", "ignored"),
    [
        ("<up_axis>Z_UP</up_axis>", None),
        ("<up_axis> z_up </up_axis>", None),
        ("<up_axis>Y_UP</up_axis>", "Y_UP"),
        ("<up_axis>X_UP</up_axis>", "X_UP"),
        # COLLADA's default.
        ("", "Y_UP"),
    ],
)
def test_up_axis_is_reported_and_not_applied(asset: str, ignored: str | None) -> None:
    """As in rviz, MoveIt and Gazebo."""
    mesh = read(document(asset=asset))

    assert_tetrahedron(mesh)
    assert mesh.ignored_up_axis == ignored


def test_unit_and_up_axis_agree_with_pybullet(tmp_path: Path) -> None:
    mesh_file = Path(pybullet_data.getDataPath(), "duck.dae")
    urdf = tmp_path / "duck.urdf"
    urdf.write_text(
        '<robot name="duck"><link name="duck"><collision><geometry>'
        f'<mesh filename="{mesh_file}"/></geometry></collision></link></robot>'
    )
    client = pybullet.connect(pybullet.DIRECT)
    try:
        body = pybullet.loadURDF(str(urdf), physicsClientId=client)
        low, high = pybullet.getAABB(body, physicsClientId=client)
    finally:
        pybullet.disconnect(client)

    mesh = read_mesh(mesh_file)

    assert mesh.ignored_up_axis == "Y_UP"
    # Bullet's boxes have a margin of a few millimetres.
    np.testing.assert_allclose(mesh.points.min(axis=0), low, atol=0.005)
    np.testing.assert_allclose(mesh.points.max(axis=0), high, atol=0.005)


def test_transforms_of_nested_nodes_are_applied_in_order() -> None:
    """Within a node the first transform is the outermost."""
    nodes = f"""<node><translate>1 2 3</translate><rotate>0 0 1 90</rotate>
      <node><scale>2 3 4</scale><node><matrix>1 0 0 0.5 0 0 -1 0.25 0 1 0 -1 0 0 0 1
      </matrix>{INSTANCE}</node></node></node>"""
    x, y, z = CORNERS.T
    # The matrix maps y to z; then the scale; then a quarter turn maps x to y.
    inner = np.array([2 * (x + 0.5), 3 * (-z + 0.25), 4 * (y - 1)])
    expected = np.array([-inner[1] + 1, inner[0] + 2, inner[2] + 3]).T

    mesh = read(document(nodes))

    np.testing.assert_allclose(mesh.points, expected, atol=1e-6)
    assert signed_volume(mesh) == pytest.approx(24 * VOLUME)


def test_rotation_axis_is_normalised() -> None:
    """The axis is a direction, as in OpenGL."""
    nodes = f"<node><rotate>0 0 3 90</rotate>{INSTANCE}</node>"
    nodes += f"<node><rotate> 1e-3 1e-3\n1e-3 120 </rotate>{INSTANCE}</node>"
    x, y, z = CORNERS.T

    mesh = read(document(nodes))

    expected = np.concatenate([np.array([-y, x, z]).T, np.array([z, x, y]).T])
    np.testing.assert_allclose(mesh.points, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (
            "<skew>45 1 0 0 0 1 0</skew>",
            "<skew> is not supported; it is ignored",
        ),
        (
            "<lookat>1 2 3 0 0 0 0 0 1</lookat>",
            "<lookat> is not supported; it is ignored",
        ),
        ("<rotate>0 0 0 90</rotate>", "<rotate> has no axis; it is ignored"),
        ("<scale>2 2</scale>", "<scale> does not have 3 numbers; it is ignored"),
        (
            "<matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 one</matrix>",
            "<matrix> does not have 16 numbers; it is ignored",
        ),
    ],
)
def test_unsupported_transform_is_reported(transform: str, text: str) -> None:
    """Exporters write none of these above a surface."""
    mesh = read(document(f"<node>{transform}{INSTANCE}</node>"))

    assert_tetrahedron(mesh)
    assert mesh.skipped == (text,)


def test_rotation_by_zero_needs_no_axis() -> None:
    mesh = read(document(f"<node><rotate>0 0 0 0</rotate>{INSTANCE}</node>"))

    assert_tetrahedron(mesh)
    assert mesh.skipped == ()


def test_instance_of_any_node_is_read() -> None:
    """A node that comes later in the scene, and one inside another."""
    nodes = f"""<node><translate>0 5 0</translate><instance_node url="#in"/></node>
      <node><translate>7 0 0</translate>
      <node id="in"><translate>0 0 3</translate>{INSTANCE}</node></node>"""

    mesh = read(document(nodes))

    expected = np.concatenate([shifted(0, 5, 3), shifted(7, 0, 3)])
    np.testing.assert_array_equal(mesh.points, expected)


def test_controller_other_than_a_skin_is_reported() -> None:
    library = """<library_controllers><controller id="c"><morph source="#g"/>
      </controller></library_controllers>"""
    nodes = f'<node><instance_controller url="#c"/>{INSTANCE}</node>'

    mesh = read(document(nodes, libraries=library))

    assert_tetrahedron(mesh)
    assert mesh.skipped == ("controller 'c' is no skin of a geometry",)


def test_missing_scene_is_replaced_by_the_first() -> None:
    text = document().replace('visual_scene url="#scene"', 'visual_scene url="#x"')

    mesh = read(text)

    assert_tetrahedron(mesh)
    assert mesh.skipped == ("<instance_visual_scene> refers to '#x', which is not there",)


def test_instances_are_merged_into_one_mesh() -> None:
    """A library node that is used twice, and the geometry itself."""
    library = f'<library_nodes><node id="n">{INSTANCE}</node></library_nodes>'
    nodes = f"""<node>{INSTANCE}</node>
      <node><translate>5 0 0</translate><instance_node url="#n"/></node>
      <node><translate>0 7 0</translate><instance_node url="#n"/></node>"""

    mesh = read(document(nodes, libraries=library))

    stacked = np.concatenate([CORNERS, shifted(5, 0, 0), shifted(0, 7, 0)])
    triangles = np.concatenate([FACES, FACES + 4, FACES + 8])
    np.testing.assert_array_equal(mesh.points[mesh.face_indices.reshape(-1, 3)], stacked[triangles])


def test_mirrored_instances_face_outwards() -> None:
    """A negative determinant would invert the faces."""
    nodes = f"<node><scale>-1 2 1</scale>{INSTANCE}</node>"

    mesh = read(document(nodes))

    assert signed_volume(mesh) == pytest.approx(2 * VOLUME)
    np.testing.assert_array_equal(mesh.points, CORNERS * [-1, 2, 1])


def test_skins_are_read_in_their_bind_pose() -> None:
    """The bind shape matrix is applied between geometry and node."""
    accessor = '<technique_common><accessor source="#{0}" count="1" stride="{1}">{2}'
    close = "</accessor></technique_common></source>"
    skin = f"""<library_controllers><controller id="c"><skin source="#g">
      <bind_shape_matrix>1 0 0 3 0 1 0 0 0 0 1 0 0 0 0 1</bind_shape_matrix>
      <source id="j"><Name_array id="ja" count="1">bone</Name_array>
      {accessor.format("ja", 1, '<param name="JOINT" type="name"/>')}{close}
      <source id="m"><float_array id="ma" count="16">1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1
      </float_array>
      {accessor.format("ma", 16, '<param name="TRANSFORM" type="float4x4"/>')}{close}
      <source id="w"><float_array id="wa" count="1">1</float_array>
      {accessor.format("wa", 1, '<param name="WEIGHT" type="float"/>')}{close}
      <joints><input semantic="JOINT" source="#j"/>
      <input semantic="INV_BIND_MATRIX" source="#m"/></joints>
      <vertex_weights count="4"><input semantic="JOINT" source="#j" offset="0"/>
      <input semantic="WEIGHT" source="#w" offset="1"/>
      <vcount>1 1 1 1</vcount><v>0 0 0 0 0 0 0 0</v></vertex_weights>
      </skin></controller></library_controllers>"""
    nodes = '<node><scale>2 2 2</scale><instance_controller url="#c"/></node>'
    text = document(nodes)
    text = text.replace("<library_visual_scenes>", skin + "<library_visual_scenes>")

    np.testing.assert_array_equal(read(text).points, 2 * shifted(3, 0, 0))


def primitive(tag: str, body: str, count: int = 1) -> str:
    entry = '<input semantic="VERTEX" source="#v" offset="0"/>'
    return f'<{tag} count="{count}">{entry}{body}</{tag}>'


@pytest.mark.parametrize(
    ("primitives", "counts", "indices"),
    [
        (
            primitive("polylist", "<vcount>3 4</vcount><p>0 2 1 0 1 2 3</p>", 2),
            [3, 4],
            [0, 2, 1, 0, 1, 2, 3],
        ),
        (primitive("polygons", "<p>0 1 2 3</p><p>0 2 1</p>", 2), [4, 3], None),
        (primitive("tristrips", "<p>0 1 2 3</p>"), [3, 3], [0, 1, 2, 2, 1, 3]),
        (primitive("trifans", "<p>0 1 2 3</p>"), [3, 3], [0, 1, 2, 0, 2, 3]),
        (
            primitive("triangles", "<p>0 1 2</p>")
            + primitive("polylist", "<vcount>3</vcount><p>2 1 3</p>"),
            [3, 3],
            [0, 1, 2, 2, 1, 3],
        ),
    ],
)
def test_every_kind_of_polygon_is_read(
    primitives: str, counts: list[int], indices: list[int] | None
) -> None:
    """Polygons are not triangulated, and primitives share points."""
    mesh = read(document(shape=geometry(primitives)))

    assert len(mesh.points) == 4
    assert mesh.face_counts.tolist() == counts
    if indices is not None:
        starts = np.cumsum(counts) - counts
        for start, count in zip(starts, counts, strict=True):
            face = mesh.face_indices[start : start + count].tolist()
            expected = indices[start : start + count]
            # The same cycle from any start.
            assert face in [expected[i:] + expected[:i] for i in range(count)]


def test_holes_in_polygons_are_filled_and_reported() -> None:
    hole = primitive("polygons", "<ph><p>0 1 2 3</p><h>0 1 2</h></ph>")

    mesh = read(document(shape=geometry(hole)))

    assert mesh.face_counts.tolist() == [4]
    assert mesh.skipped == ("holes in polygons are filled",)


BROKEN_NORMAL = '<input semantic="NORMAL" source="#nowhere" offset="0"/>'
HARMLESS = {
    "camera": document(f'<node><instance_camera url="#none"/>{INSTANCE}</node>'),
    "light": document(f'<node><instance_light url="#none"/>{INSTANCE}</node>'),
    "material": document(
        f"<node>{INSTANCE[:-2]}><bind_material><technique_common><instance_material "
        'symbol="m" target="#none"/></technique_common></bind_material>'
        "</instance_geometry></node>"
    ),
    "effect": document(libraries="<library_effects><effect/></library_effects>"),
    "comment": document(shape=geometry(f"<!-- faces -->{TRIANGLES}")),
    "lines": document(
        shape=geometry(TRIANGLES + primitive("lines", "<p>0 9</p>")),
    ),
    "linestrips": document(shape=geometry(primitive("linestrips", "") + TRIANGLES)),
    "unknown tag": document(shape=geometry(f"<sculpture/>{TRIANGLES}")),
    "normals of nowhere": document(shape=geometry(TRIANGLES.replace("<p>", BROKEN_NORMAL + "<p>"))),
    "empty source": document(shape=geometry(f'<source id="n"/>{TRIANGLES}')),
    "normals at vertices": document(shape=geometry(vertices=BROKEN_NORMAL)),
    "extra": document(f"<node><extra><x/></extra>{INSTANCE}</node>"),
    "empty namespace": re.sub(r' xmlns="[^"]*"', "", document()),
    "other namespace": document().replace("2005/11", "2008/03"),
    "spline": document(shape=geometry() + '<geometry id="s"><spline/></geometry>'),
    "contributor": document(asset="<created>not a date</created>"),
}


@pytest.mark.parametrize("case", HARMLESS)
def test_lines_and_points_are_ignored(case: str) -> None:
    """They are not reported: a robot does not need them."""
    mesh = read(HARMLESS[case])

    assert_tetrahedron(mesh)
    assert mesh.skipped == ()


@pytest.mark.parametrize(
    ("nodes", "shape", "skipped"),
    [
        (f'<node><instance_node url="#x"/>{INSTANCE}</node>', None, "#x"),
        (f'<node><instance_geometry url="#x"/>{INSTANCE}</node>', None, "#x"),
        (f"<node><instance_geometry/>{INSTANCE}</node>", None, "instance_geometry"),
        (
            f'<node>{INSTANCE}<instance_geometry url="#h"/></node>',
            geometry() + geometry(TRIANGLES.replace("0 2 1", "0 9 1")).replace('"g"', '"h"'),
            "none of its 4 vertices",
        ),
    ],
)
def test_invalid_surfaces_are_reported_and_the_others_kept(
    nodes: str, shape: str | None, skipped: str
) -> None:
    """One message per cause."""
    mesh = read(document(nodes, shape))

    assert_tetrahedron(mesh)
    assert skipped in " ".join(mesh.skipped)


def test_index_stride_includes_other_inputs() -> None:
    """Positions are the second of three indices per corner."""
    rows = " ".join(f"7 {index} 8" for index in FACES.ravel())
    inputs = (
        '<input semantic="NORMAL" source="#s" offset="0"/>'
        '<input semantic="VERTEX" source="#v" offset="1"/>'
        '<input semantic="TEXCOORD" source="#s" offset="2" set="0"/>'
    )
    primitives = f'<triangles count="4">{inputs}<p>{rows}</p></triangles>'

    assert_tetrahedron(read(document(shape=geometry(primitives))))


def test_document_without_scene_has_each_geometry_once() -> None:
    """Some exporters write geometries alone."""
    text = re.sub(r"<library_visual_scenes>.*</scene>", "", document(), flags=re.DOTALL)

    assert_tetrahedron(read(text))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_declared_encoding_is_used(encoding: str) -> None:
    """Or that of the byte order mark."""
    text = document().replace("utf-8", encoding.removesuffix("-sig"))
    text = text.replace("<asset>", "<asset><title>Gerät</title>")

    assert_tetrahedron(read(text.encode(encoding)))


def node_bomb(leaf: str) -> str:
    """Write forty library nodes, each of which instances the previous one twice."""
    levels = "".join(
        f'<node id="n{i}">' + f'<instance_node url="#n{i - 1}"/>' * 2 + "</node>"
        for i in range(1, 40)
    )
    return f'<library_nodes><node id="n0">{leaf}</node>{levels}</library_nodes>'


TOP = '<node><instance_node url="#n39"/></node>'
ENTITIES = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 14))
DAMAGED = {
    "not XML": (document()[:-30], "well-formed"),
    "unknown encoding": (document().replace("utf-8", "utf-80"), "well-formed"),
    "not COLLADA": ("<robot/>", "root is <robot>"),
    "no surface": (document("<node/>"), "no surface"),
    "not a number": (
        document().replace("1.25", "1,25"),
        "no surface; positions in 's' are no numbers",
    ),
    "negative index": (document().replace("0 2 1", "0 -2 1"), "none of its 4"),
    "vcount": (
        document(shape=geometry(primitive("polylist", "<vcount>2000000000</vcount><p>0 1 2</p>"))),
        "do not add up",
    ),
    "offset": (document().replace('offset="0"', 'offset="999999999"'), "indices are broken"),
    "unit": (document(asset='<unit meter="0"/>'), "<unit>"),
    "unit text": (document(asset='<unit meter="inch"/>'), "<unit>"),
    "deep": (document("<node>" * 9000 + "</node>" * 9000), "no surface"),
    "cycle": (
        document(
            TOP,
            libraries=node_bomb("").replace('"n0">', '"n0"><instance_node url="#n39"/>'),
        ),
        "exceed the limit",
    ),
    "instances": (document(TOP, libraries=node_bomb(INSTANCE)), "exceed the limit"),
    "empty instances": (document(TOP, libraries=node_bomb("")), "exceed the limit"),
    "entities": (
        document()
        .replace("<COLLADA", f'<!DOCTYPE c [<!ENTITY e0 "spam">{ENTITIES}]><COLLADA', 1)
        .replace("<asset>", "<asset>&e13;"),
        "well-formed",
    ),
    "external entity": (
        document()
        .replace("<COLLADA", '<!DOCTYPE c [<!ENTITY f SYSTEM "/etc/hosts">]><COLLADA')
        .replace("<asset>", "<asset>&f;"),
        "well-formed",
    ),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_invalid_and_hostile_files_are_refused_with_a_reason(case: str) -> None:
    """None crashes, hangs or uses memory beyond its size."""
    text, reason = DAMAGED[case]

    with pytest.raises(MeshError, match=re.escape(reason)):
        read(text)


def test_nodes_may_be_defined_after_their_instances() -> None:
    """In any number of libraries, in linear time."""
    chain = "".join(
        f'<library_nodes><node id="n{i}"><translate>0 0 0.5</translate>'
        f'<instance_node url="#n{i + 1}"/></node></library_nodes>'
        for i in range(3000)
    )
    chain += f'<library_nodes><node id="n3000">{INSTANCE}</node></library_nodes>'

    mesh = read(document('<node><instance_node url="#n0"/></node>', libraries=chain))

    np.testing.assert_allclose(mesh.points, shifted(0, 0, 1500), rtol=1e-6)


def test_many_faults_of_one_file_are_summarised() -> None:
    """A file may have a million references to missing files of any length."""
    missing = "".join(f'<instance_geometry url="#{"x" * 1000}{i}"/>' for i in range(500))

    skipped = read(document(f"<node>{INSTANCE}{missing}</node>")).skipped

    assert len(skipped) == 21
    assert skipped[-1] == "there are 480 more faults"
    assert max(map(len, skipped)) == 300
