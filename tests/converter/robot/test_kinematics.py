"""Forward kinematics, compared with scipy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tests.converter.strategies import robots
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.dynamics import link_transforms, rest_transforms
from urdf_usd.converter.robot.topology import build_tree

_OBLIQUE: m.Vec3 = (2 / 7, 3 / 7, 6 / 7)
_TURN = Rotation.from_euler("xyz", (0.3, -0.4, 0.5))


def _homogeneous(rotation: Rotation, position: m.Vec3) -> NDArray[np.float64]:
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = rotation.as_matrix(), position
    return transform


def test_link_transform_is_the_product_of_origins_and_motions() -> None:
    w, x, y, z = _TURN.as_quat(scalar_first=True)
    origin = m.Pose((0.1, -0.2, 0.3), (w, x, y, z))
    robot = m.Robot(
        "r",
        (m.Link("c"), m.Link("a"), m.Link("b")),
        (
            m.Joint("slide", "b", "c", m.Prismatic(_OBLIQUE, m.UNLIMITED), origin),
            m.Joint("turn", "a", "b", m.Continuous(_OBLIQUE), origin),
        ),
    )
    turns, slides = np.array([[0.7], [-2.0]]), np.array([[0.25], [0.5]])

    actual = link_transforms(robot, {"turn": turns, "slide": slides})

    step = _homogeneous(_TURN, origin.position)
    for k in range(2):
        turn = Rotation.from_rotvec(turns[k, 0] * np.array(_OBLIQUE))
        slide = np.eye(4)
        slide[:3, 3] = slides[k, 0] * np.array(_OBLIQUE)
        expected = step @ _homogeneous(turn, (0.0, 0.0, 0.0)) @ step @ slide
        np.testing.assert_allclose(actual["c"][k], expected, atol=1e-14)
    np.testing.assert_array_equal(actual["a"], np.tile(np.eye(4), (2, 1, 1)))


@given(robots())
def test_link_transforms_at_zero_are_the_rest_transforms(robot: m.Robot) -> None:
    still = {
        m.Floating: [[0.0, 0, 0, 1, 0, 0, 0]],
        m.Spherical: [[1.0, 0, 0, 0]],
        m.Planar: [[0.0] * 4],
    }
    positions = {
        joint.name: np.array(still.get(type(joint.kind), [[0.0]]))
        for joint in robot.joints
        if not isinstance(joint.kind, m.Fixed)
    }

    moved = link_transforms(robot, positions)

    for name, rest in rest_transforms(build_tree(robot)).items():
        np.testing.assert_allclose(moved[name][0], rest, atol=1e-13)
