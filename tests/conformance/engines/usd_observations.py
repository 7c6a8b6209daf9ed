"""Small stages, and what the USD engine states of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.observation.robot import Configurations, Observation

Array: TypeAlias = "NDArray[np.float64]"


def observe_stage(path: Path) -> Observation:
    return OpenusdEngine().observe(Request(str(path), Configurations((), (), ("zero",))))


def stage(folder: Path, body: str, header: str = "metersPerUnit = 1") -> Path:
    """Write a stage whose default prim ``robot`` holds ``body``; return its path."""
    path = folder / "robot.usda"
    path.write_text(
        f'#usda 1.0\n(\n    defaultPrim = "robot"\n    {header}\n)\n\n'
        f'def Xform "robot"\n{{\n{body}\n}}\n'
    )
    return path


def body(name: str, content: str = "", schemas: Sequence[str] = ()) -> str:
    return _prim("Xform", name, content, ("PhysicsRigidBodyAPI", *schemas))


def joint(kind: str, name: str, content: str = "", schemas: Sequence[str] = ()) -> str:
    """Return the text of a joint between the prims ``a`` and ``b`` below the default prim."""
    bodies = (f"    rel physics:body{i} = </robot/{side}>\n" for i, side in enumerate("ab"))
    return _prim(kind, name, "".join((*bodies, content)), schemas)


def _prim(kind: str, name: str, content: str, schemas: Sequence[str]) -> str:
    names = ", ".join(f'"{schema}"' for schema in schemas)
    applied = f" (prepend apiSchemas = [{names}])" if schemas else ""
    return f'def {kind} "{name}"{applied}\n{{\n{content}\n}}\n'


def pose(
    position: Array | Sequence[float] = (0, 0, 0), wxyz: Sequence[float] = (1, 0, 0, 0)
) -> Array:
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_quat(np.roll(wxyz, -1)).as_matrix()
    matrix[:3, 3] = position
    return matrix
