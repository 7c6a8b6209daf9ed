"""The URDFs of the feature suite by formulas, without any code of the converter.

Numbers are read from XML; frames are products of Rz(yaw) Ry(pitch) Rx(roll) and
translations; inertia is moved by the parallel axis theorem.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias
from xml.etree import ElementTree as ET

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from urdf_usd.corpus import RobotSource, resolve_corpora
from urdf_usd.reports.records.suite_case import Case, read_case

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class SuiteRobot:
    name: str  # chapter and name
    source: RobotSource
    case: Case


def all_cases() -> tuple[SuiteRobot, ...]:
    found = []
    for source in resolve_corpora(["suite"]):
        assert isinstance(source, RobotSource)
        assert source.case is not None
        name = f"{source.case.chapter}/{source.case.name}"
        found.append(SuiteRobot(name, source, read_case(source.case.text)))
    return tuple(found)


def numbers(text: str | None, count: int = 3, default: float = 0.0) -> Array:
    """Read a vector: commas at the end of numbers and further numbers are dropped."""
    words = (text or "").split()
    if not words:
        return np.full(count, default)
    return np.array([float(word.rstrip(",")) for word in words[:count]])


def rotation_of(origin: ET.Element | None, version: float) -> Array:
    """Return the rotation of an origin: Rz(yaw) Ry(pitch) Rx(roll), or a quaternion."""
    if origin is None:
        return np.eye(3)
    quaternion = origin.get("quat_xyzw")
    if quaternion is not None and version > 1:
        x, y, z, w = numbers(quaternion, 4)
        return matrix_of(np.array([w, x, y, z]))
    turns: Array = Rotation.from_euler("xyz", numbers(origin.get("rpy"))).as_matrix()
    return turns


def matrix_of(quaternion: Array) -> Array:
    """Return the rotation of a quaternion wxyz of any length."""
    rotation: Array = Rotation.from_quat(np.roll(quaternion, -1)).as_matrix()
    return rotation


def turn(axis: Array, angle: float) -> Array:
    rotation: Array = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
    return rotation


def pose(rotation: Array, position: Array) -> Array:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, position
    return matrix


@dataclass(frozen=True)
class Tree:
    root: ET.Element
    version: float  # of URDF
    joints: dict[str, ET.Element] = field(default_factory=dict)  # by child

    @classmethod
    def of(cls, robot: SuiteRobot) -> Tree:
        root = ET.fromstring(robot.source.path.read_bytes())
        version = float(root.get("version", "1"))
        joints = {}
        for joint in root.iterfind("joint"):
            child = joint.find("child")
            assert child is not None
            joints[child.get("link", "")] = joint
        return cls(root, version, joints)

    def frame(self, link: str, q: dict[str, float | tuple[float, ...]]) -> Array:
        """Return the transform from a link to the root of the tree."""
        joint = self.joints.get(link)
        if joint is None:
            return np.eye(4)
        parent = joint.find("parent")
        assert parent is not None
        origin = joint.find("origin")
        place = numbers(None if origin is None else origin.get("xyz"))
        own = pose(rotation_of(origin, self.version), place)
        above = self.frame(parent.get("link", ""), q)
        return above @ own @ self._motion(joint, q.get(joint.get("name", "")))

    @staticmethod
    def _motion(joint: ET.Element, q: float | tuple[float, ...] | None) -> Array:
        element = joint.find("axis")
        axis = numbers("1 0 0" if element is None else element.get("xyz"))
        match joint.get("type"), q:
            case _, None:
                return np.eye(4)
            case (("revolute" | "continuous"), float()):
                return pose(turn(axis, q), np.zeros(3))
            case "prismatic", float():
                return pose(np.eye(3), q * axis / np.linalg.norm(axis))
            case "planar", (x, y, z, angle):
                return pose(turn(axis, angle), np.array([x, y, z]))
            case kind:
                raise AssertionError(kind)

    def own_mass(self, link: str) -> tuple[float, Array, Array]:
        """Return mass, centre of mass and inertia of the first inertial of a link."""
        inertial = self.root.find(f"link[@name='{link}']/inertial")
        zero = 0.0, np.zeros(3), np.zeros((3, 3))
        if inertial is None:
            return zero
        mass, inertia = inertial.find("mass"), inertial.find("inertia")
        origin = inertial.find("origin")
        if mass is None:
            return zero
        value = {} if inertia is None else inertia.attrib
        keys = ("ixx", "ixy", "ixz", "ixy", "iyy", "iyz", "ixz", "iyz", "izz")
        tensor = np.array([float(value.get(key, 0)) for key in keys]).reshape(3, 3)
        turned = rotation_of(origin, self.version)
        center = numbers(None if origin is None else origin.get("xyz"))
        return float(mass.get("value", "0")), center, turned @ tensor @ turned.T

    def lumped(self, links: tuple[str, ...]) -> tuple[float, Array, Array]:
        """Return the mass properties of welded links, in the frame of the first."""
        first = np.linalg.inv(self.frame(links[0], {}))
        parts = []
        for link in links:
            mass, center, tensor = self.own_mass(link)
            frame = first @ self.frame(link, {})
            rotation = frame[:3, :3]
            at = rotation @ center + frame[:3, 3]
            parts.append((mass, at, rotation @ tensor @ rotation.T))
        total = sum(mass for mass, _, _ in parts)
        if not total:
            return 0.0, np.zeros(3), np.zeros((3, 3))
        middle = sum((mass * at for mass, at, _ in parts), np.zeros(3)) / total
        inertia = np.zeros((3, 3))
        for mass, at, tensor in parts:
            arm = at - middle
            inertia += tensor + mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return total, middle, inertia
