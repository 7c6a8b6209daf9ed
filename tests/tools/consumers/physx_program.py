"""A process that counts degrees of freedom of articulations of USDs in PhysX, by prim path."""

from __future__ import annotations

from typing import Any

from ovphysx.types import SimObjectType

from urdf_usd.conformance.engines.physx_program import Scene, configure
from urdf_usd.conformance.engines.process import answer_requests


def _count(request: dict[str, Any]) -> dict[str, Any]:
    scene = Scene(request["usd"])
    fixed = scene.read(SimObjectType.ARTICULATION, ["isFixedBase"])["isFixedBase"]
    joints = scene.dof_paths()
    return {"dofs_of": {path: len(joints.get(path, ())) for path in fixed}}


if __name__ == "__main__":
    answer_requests(_count, configure)
