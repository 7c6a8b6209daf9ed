"""Robots of any size, to measure the growth of cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_STL_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("extra", "<u2")])
# Files larger than 256 MiB are refused.
LARGEST_STL = 5_000_000

_LINK = """
<link name="link{i}">
  <inertial><origin xyz="0.1 0.02 0.3" rpy="0.1 0.2 0.3"/><mass value="1.5"/>
    <inertia ixx="0.1" iyy="0.12" izz="0.13" ixy="0.01" ixz="0.02" iyz="0.003"/>
  </inertial>
  <visual><origin xyz="0.1 0 0.2" rpy="0.1 0.2 0.3"/>
    <geometry><box size="0.1 0.2 0.3"/></geometry>
    <material name="paint{paint}"><color rgba="0.{paint} 0.5 0.2 1"/></material>
  </visual>
  <collision><geometry><cylinder radius="0.1" length="0.4"/></geometry></collision>
</link>"""
_JOINT = """
<joint name="joint{i}" type="revolute">
  <parent link="link{parent}"/><child link="link{i}"/>
  <origin xyz="0.1 0.2 0.3" rpy="0.3 0.2 0.1"/><axis xyz="{axis}"/>
  <limit lower="-1" upper="1.5" effort="10" velocity="2"/>
</joint>"""


def tree_urdf(links: int, children: int) -> str:
    """Write a robot of this many links with this many children each; one gives a chain.

    Every other axis is oblique.
    """
    parts = []
    for i in range(links):
        parts.append(_LINK.format(i=i, paint=i % 9 + 1))
        if i:
            axis = ("0 0 1", "0.6 0 0.8")[i % 2]
            parent = (i - 1) // children
            parts.append(_JOINT.format(i=i, parent=parent, axis=axis))
    return f'<robot name="tree">{"".join(parts)}</robot>'


def write_mesh_robot(folder: Path, triangles: int) -> Path:
    """Write a robot whose STL files have about this many triangles in total."""
    files = -(-triangles // LARGEST_STL)
    shapes = []
    for number in range(files):
        (folder / f"{number}.stl").write_bytes(_sheet(triangles // files, number))
        mesh = f'<geometry><mesh filename="{number}.stl"/></geometry>'
        shapes.append(f"<visual>{mesh}</visual>")
    path = folder / "sheets.urdf"
    path.write_text(f'<robot name="sheets"><link name="a">{"".join(shapes)}</link></robot>')
    return path


def _sheet(triangles: int, number: int) -> bytes:
    """Write a wavy sheet as binary STL."""
    points, faces = sheet(max(1, int((triangles / 2) ** 0.5)))
    records = np.zeros(len(faces), _STL_RECORD)
    points[:, 2] += number
    records["corners"] = points[faces]
    return bytes(80) + len(faces).to_bytes(4, "little") + records.tobytes()


def sheet(cells: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return points and triangles of a wavy square with this many cells per side."""
    x, y = np.meshgrid(np.linspace(0, 1, cells + 1), np.linspace(0, 2, cells + 1))
    points = np.stack([x, y, np.sin(7 * x) * np.cos(5 * y)], axis=-1).reshape(-1, 3)
    row = cells + 1
    corner = (np.arange(cells)[:, None] * row + np.arange(cells)).ravel()
    halves = (
        (corner, corner + 1, corner + row + 1),
        (corner, corner + row + 1, corner + row),
    )
    return points, np.concatenate([np.stack(half, axis=1) for half in halves])
