"""Helpers that write stages and return the USD engine's observations of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.observation.robot import Configurations, JointObservation, Observation

Array: TypeAlias = "NDArray[np.float64]"

DATA = Path(__file__).parents[2] / "data" / "usd"


def observe_stage(
    path: Path, positions: Mapping[str, Sequence[Sequence[float]]] | None = None
) -> Observation:
    """Return the observation of a stage, at the given positions per joint."""
    arrays = {name: np.array(rows) for name, rows in (positions or {}).items()}
    count = max((len(rows) for rows in arrays.values()), default=1)
    configurations = Configurations(
        tuple(arrays), tuple(arrays.values()), tuple(f"{k}" for k in range(count))
    )
    return OpenusdEngine().observe(Request(str(path), configurations))


def stage(folder: Path, body: str, header: str = "metersPerUnit = 1") -> Path:
    """Write a stage whose default prim ``robot`` holds ``body``; return its path."""
    path = folder / "robot.usda"
    path.write_text(
        f'#usda 1.0\n(\n    defaultPrim = "robot"\n    {header}\n)\n\n'
        f'def Xform "robot"\n{{\n{body}\n}}\n'
    )
    return path


def body(name: str, content: str = "", schemas: Sequence[str] = ()) -> str:
    """Return the text of a rigid body."""
    applied = _applied(("PhysicsRigidBodyAPI", *schemas))
    return f'def Xform "{name}"{applied}\n{{\n{content}\n}}\n'


def _applied(schemas: Sequence[str]) -> str:
    names = ", ".join(f'"{schema}"' for schema in schemas)
    return f" (prepend apiSchemas = [{names}])" if schemas else ""


def joint(
    kind: str,
    name: str,
    content: str = "",
    sides: tuple[str, str] = ("a", "b"),
    schemas: Sequence[str] = (),
) -> str:
    """Return the text of a joint between two prims below the default prim."""
    first, second = sides
    return (
        f'def {kind} "{name}"{_applied(schemas)}\n{{\n'
        f"    rel physics:body0 = </robot/{first}>\n"
        f"    rel physics:body1 = </robot/{second}>\n{content}\n}}\n"
    )


def pose(
    position: Array | Sequence[float] = (0, 0, 0), wxyz: Sequence[float] = (1, 0, 0, 0)
) -> Array:
    """Return a (4, 4) transform."""
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_quat(np.roll(wxyz, -1)).as_matrix()
    matrix[:3, 3] = position
    return matrix


def joint_named(observation: Observation, name: str) -> JointObservation:
    """Return the joint of that name."""
    return next(found for found in observation.joints if found.name == name)
