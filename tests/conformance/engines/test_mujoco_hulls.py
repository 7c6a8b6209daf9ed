"""How MuJoCo reads OBJ files."""

from __future__ import annotations

from pathlib import Path

import mujoco


def test_mujoco_makes_one_hull_of_all_objects_of_an_obj_file() -> None:
    """A ball between the two objects of ``two-objects.obj`` touches the mesh."""
    file = Path(__file__).parents[2] / "data" / "deviations" / "two-objects.obj"
    model = mujoco.MjModel.from_xml_string(f"""<mujoco>
  <asset><mesh name="m" file="{file}" inertia="shell"/></asset>
  <worldbody><geom type="mesh" mesh="m"/>
    <body><freejoint/><geom type="sphere" size="0.005"/></body></worldbody>
</mujoco>""")
    data = mujoco.MjData(model)
    contacts = []
    for place in ((0.16, 0.02, 0.05), (0.16, 0.2, 0.05)):
        data.qpos[:3] = place
        mujoco.mj_forward(model, data)
        contacts.append(data.ncon)

    assert contacts == [1, 0]
