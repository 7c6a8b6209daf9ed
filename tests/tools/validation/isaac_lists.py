"""Compare robot schemas with Isaac Sim's own: ``isaac_lists.py ASSET``.

Runs in an environment with ``isaacsim-robot-schema``, apart from this project. Prints a
line for each list that differs from the one that Isaac Sim computes from the joints.
"""

from __future__ import annotations

import sys

import usd.schema.isaac.robot_schema as schema
from pxr import Usd
from usd.schema.isaac.robot_schema import utils

_LISTS = (schema.Relations.ROBOT_LINKS.name, schema.Relations.ROBOT_JOINTS.name)


def main(asset: str) -> None:
    stage = Usd.Stage.Open(asset)
    robot = stage.GetDefaultPrim()
    written = {name: robot.GetRelationship(name).GetTargets() for name in _LISTS}
    for layer in stage.GetUsedLayers():
        if layer.GetDisplayName() == "robot.usda":
            stage.MuteLayer(layer.identifier)
    robot.AddAppliedSchema(schema.Classes.ROBOT_API.value)
    utils.PopulateRobotSchemaFromArticulation(stage, robot, robot, detect_sites=True)
    # Below a fixed base it starts at the body with most joints.
    links = robot.GetRelationship(_LISTS[0]).GetTargets()
    starts_elsewhere = links[:1] != written[_LISTS[0]][:1]
    for name in _LISTS:
        computed = robot.GetRelationship(name).GetTargets()
        if starts_elsewhere:
            computed = [*written[name], *(set(computed) ^ set(written[name]))]
        if computed != written[name]:
            shown = [[path.name for path in one] for one in (written[name], computed)]
            sys.stdout.write(f"{name} is {shown[0]}, Isaac Sim has {shown[1]}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
