"""A process that reports MuJoCo's models of assets, in an environment with Newton and mujoco-warp.

Newton reads the variant ``mujoco``, and its solver makes an ``mjModel``. Answers have damping,
dry friction, effort limit and armature of the ``joints`` by path [SI], ``couplings`` as (follower,
leader, offset, multiplier) and the number of ``actuators``.
"""

from __future__ import annotations

from typing import Any

import mujoco
import newton
import warp
from pxr import Usd

from urdf_usd.conformance.engines.process import answer_requests

_ONE_AXIS = (int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE))


def _model(request: dict[str, Any]) -> dict[str, Any]:
    stage = Usd.Stage.Open(request["usd"])
    physics = stage.GetDefaultPrim().GetVariantSet("Physics")
    physics.SetVariantSelection("mujoco")
    builder = newton.ModelBuilder()
    newton.solvers.SolverMuJoCo.register_custom_attributes(builder)
    resolvers = [newton.usd.SchemaResolverMjc(), newton.usd.SchemaResolverNewton()]
    builder.add_usd(stage, schema_resolvers=resolvers, load_sites=False, load_visual_shapes=False)
    solver = newton.solvers.SolverMuJoCo(
        builder.finalize(device="cpu"), use_mujoco_cpu=True, disable_contacts=True
    )
    model = solver.mj_model
    path_of = {label.replace("/", "_"): label for label in builder.joint_label}
    joints = {}
    for index in range(model.njnt):
        name = model.joint(index).name
        axis = model.jnt_dofadr[index]
        if name in path_of and int(model.jnt_type[index]) in _ONE_AXIS:
            joints[path_of[name]] = {
                "damping": float(model.dof_damping.flat[axis]),
                "friction": float(model.dof_frictionloss[axis]),
                "effort": float(model.jnt_actfrcrange[index][1]),
                "armature": float(model.dof_armature[axis]),
            }
    couplings = [
        (
            path_of[model.joint(model.eq_obj1id[index]).name],
            path_of[model.joint(model.eq_obj2id[index]).name],
            *map(float, model.eq_data[index][:2]),
        )
        for index in range(model.neq)
        if int(model.eq_type[index]) == int(mujoco.mjtEq.mjEQ_JOINT)
    ]
    return {"joints": joints, "couplings": couplings, "actuators": model.nu}


def _configure() -> None:
    warp.config.quiet = True


if __name__ == "__main__":
    answer_requests(_model, _configure)
