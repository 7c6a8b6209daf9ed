"""The expected values of all cases, by formulas; meshes by trimesh.

MuJoCo and PyBullet compare with them in every run over the suite.
"""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import trimesh
from msgspec import UNSET

from tests.corpus.suite.suite_cases import (
    Array,
    SuiteRobot,
    Tree,
    all_cases,
    matrix_of,
    numbers,
    pose,
    rotation_of,
)
from urdf_usd.reports.records.suite_case import ShapeValues

CASES = {robot.name: robot for robot in all_cases()}
VALID = {name: one for name, one in CASES.items() if not one.case.expected.refused}
POSED = [name for name, one in VALID.items() if one.case.expected.poses]
# Rounding of expected values, which have twelve digits.
ROUNDING = 1e-10


@pytest.mark.parametrize("name", POSED)
def test_poses_are_products_of_transforms(name: str) -> None:
    robot = VALID[name]
    tree, expected = Tree.of(robot), robot.case.expected

    for at in expected.poses:
        above = np.linalg.inv(tree.frame(expected.root, at.q))
        for link, values in at.links.items():
            frame = above @ tree.frame(link, at.q)
            if values.position is not UNSET:
                assert frame[:3, 3] == pytest.approx(values.position, abs=ROUNDING)
            if values.rotation_wxyz is not UNSET:
                turned = matrix_of(np.array(values.rotation_wxyz))
                assert frame[:3, :3] == pytest.approx(turned, abs=ROUNDING)


@pytest.mark.parametrize("name", [n for n, one in VALID.items() if one.case.expected.bodies])
def test_mass_properties_are_sums(name: str) -> None:
    robot = VALID[name]
    tree = Tree.of(robot)

    for body in robot.case.expected.bodies:
        mass, center, inertia = tree.lumped(body.links)
        if body.mass_below is not UNSET:
            assert not mass
            assert 0 < body.mass_below < 1e-5
        if body.mass is not UNSET:
            assert mass == pytest.approx(body.mass, rel=ROUNDING)
        if body.com is not UNSET:
            assert center == pytest.approx(body.com, abs=ROUNDING)
        if body.inertia is not UNSET:
            upper = inertia[np.triu_indices(3)]
            size = math.hypot(*body.inertia)
            assert upper == pytest.approx(body.inertia, abs=ROUNDING * size)


def test_total_masses_are_sums() -> None:
    for name, robot in VALID.items():
        total = robot.case.expected.total_mass
        if total is not UNSET:
            tree = Tree.of(robot)
            links = [link.get("name", "") for link in tree.root.iterfind("link")]
            found = sum(tree.own_mass(link)[0] for link in links)
            assert found == pytest.approx(total, rel=ROUNDING), name


def test_values_of_joints_are_those_of_the_urdf() -> None:
    compared = 0
    places = {
        **dict.fromkeys(("lower", "upper", "effort", "velocity"), "limit"),
        **dict.fromkeys(("damping", "friction"), "dynamics"),
    }
    for name, robot in VALID.items():
        root = Tree.of(robot).root
        for joint_name, values in robot.case.expected.joints.items():
            joint = root.find(f"joint[@name='{joint_name}']")
            assert joint is not None, name
            for key, place in places.items():
                element = joint.find(place)
                stated = None if element is None else element.get(key)
                wanted = getattr(values, key)
                free = joint.get("type") == "continuous" and key in {"lower", "upper"}
                if stated is not None and wanted is not UNSET and not free:
                    assert float(wanted) == float(stated), name
                    compared += 1
            mimic = joint.find("mimic")
            if mimic is not None and values.mimic:
                stated_mimic = values.mimic
                assert mimic.get("joint") == stated_mimic.joint
                assert float(mimic.get("multiplier", 1)) == stated_mimic.multiplier
                assert float(mimic.get("offset", 0)) == stated_mimic.offset
                compared += 1
    assert compared > 50


# trimesh turns glTF by other rules, and ignores units of COLLADA.
_NOT_BY_TRIMESH = frozenset({"gltf", "dae"})


def _shapes() -> list[tuple[str, ET.Element, ShapeValues]]:
    """List the shapes whose elements are in the order of the expected values."""
    found = []
    for name, robot in VALID.items():
        root = Tree.of(robot).root
        expected = robot.case.expected
        roles = ("visual", expected.visuals), ("collision", expected.colliders)
        for role, links in roles:
            for link, values in links.items():
                elements = root.findall(f"link[@name='{link}']/{role}")
                if len(elements) == len(values):
                    pairs = zip(elements, values, strict=True)
                    found += [(name, one, value) for one, value in pairs]
    return found


def _frame_of(shape: ET.Element) -> Array:
    """Return the (4, 4) pose of a visual or collision in its link."""
    origin = shape.find("origin")
    place = numbers(None if origin is None else origin.get("xyz"))
    return pose(rotation_of(origin, 1.0), place)


def test_primitives_have_sizes_and_bounds_of_formulas() -> None:
    compared = 0
    for name, element, values in _shapes():
        geometry = element.find("geometry")
        assert geometry is not None
        shape, frame = geometry[0], _frame_of(element)
        if shape.tag == "mesh":
            continue
        size, half = _half_extents(shape)
        place = frame[:3, 3]
        if values.size is not UNSET:
            assert values.size == pytest.approx(size), name
        if values.position is not UNSET:
            assert values.position == pytest.approx(place), name
        compared += 1
        if shape.tag == "box" or np.array_equal(frame[:3, :3], np.eye(3)):
            reach = np.abs(frame[:3, :3]) @ half
            _compare_bounds(name, values, np.array([place - reach, place + reach]))
    assert compared > 30


def _solid(file: Path) -> trimesh.Trimesh:
    """Read the surface of a mesh file, without materials, which need Pillow."""
    scene = trimesh.load_scene(str(file), skip_materials=True)
    vertices, faces, count = [], [], 0
    for surface in scene.geometry.values():
        assert isinstance(surface, trimesh.Trimesh)
        vertices.append(surface.vertices)
        faces.append(surface.faces + count)
        count += len(surface.vertices)
    return trimesh.Trimesh(np.concatenate(vertices), np.concatenate(faces))


def test_meshes_have_measures_that_trimesh_reads() -> None:
    # Scaled, rotated and moved; of a mirrored mesh the volume is positive.
    compared = 0
    for name, element, values in _shapes():
        mesh = element.find("geometry/mesh")
        if mesh is None:
            continue
        file = _mesh_file(CASES[name], mesh)
        if not file.is_file() or file.suffix[1:] in _NOT_BY_TRIMESH:
            continue
        solid = _solid(file)
        scale = np.diag([*numbers(mesh.get("scale"), 3, 1), 1])
        solid.apply_transform(_frame_of(element) @ scale)
        if values.volume is not UNSET:
            assert abs(solid.volume) == pytest.approx(values.volume, rel=1e-6), name
        if values.area is not UNSET:
            assert solid.area == pytest.approx(values.area, rel=1e-6), name
        _compare_bounds(name, values, solid.bounds)
        compared += 1
    assert compared > 30


def _compare_bounds(name: str, values: ShapeValues, bounds: Array) -> None:
    for bound, wanted in zip(bounds, (values.lower, values.upper), strict=True):
        if wanted is not UNSET:
            assert wanted == pytest.approx(bound, abs=1e-7), name


def _mesh_file(robot: SuiteRobot, mesh: ET.Element) -> Path:
    name = mesh.get("filename", "")
    folder = robot.source.path.parent
    if name.startswith("package://suite/"):
        return folder.parent / name.removeprefix("package://suite/")
    return folder / name


def _half_extents(shape: ET.Element) -> tuple[list[float], Array]:
    """Return the size of a primitive as in cases, and half its extents."""
    if shape.tag == "box":
        size = numbers(shape.get("size"))
        return size.tolist(), size / 2
    radius, length = (float(shape.get(key, "0")) for key in ("radius", "length"))
    if shape.tag == "sphere":
        return [radius], np.full(3, radius)
    cap = radius if shape.tag == "capsule" else 0.0
    return [radius, length], np.array([radius, radius, length / 2 + cap])


def test_colors_are_linear_values_of_the_rgba() -> None:
    # By the formula of IEC 61966-2-1, for materials with a colour in the URDF.
    compared = 0
    for name, element, values in _shapes():
        color = element.find("material/color")
        if color is None or values.appearances is UNSET:
            continue
        (appearance,) = values.appearances
        red, green, blue, alpha = (
            min(1.0, component) for component in numbers(color.get("rgba"), 4)
        )
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)
        ]
        assert appearance.color == pytest.approx(linear, abs=ROUNDING), name
        if appearance.opacity is not UNSET:
            assert appearance.opacity == alpha, name
        compared += 1
    assert compared > 10
