"""A copy of a URDF, loaded into a world of PyBullet.

PyBullet reads inertia from the file only if told to, keeps files it has read in a
cache, and prints why it refuses a file instead of saying so in the exception.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy.spatial.transform import Rotation

from urdf_usd.conformance.engines.native_output import captured
from urdf_usd.conformance.engines.protocol import AbstentionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from urdf_usd.conformance.engines.prepared_urdf.text import UrdfText

BASE = -1
"""PyBullet's index of the root link."""


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """One robot in a PyBullet world of its own.

    Attributes:
        engine: The ``pybullet`` module.
        client: Number of the world.
        index: Number of the robot in it.
        robot: Name of the robot.
        links: Names; PyBullet's link index is the position here minus one.
        joint_rows: What ``getJointInfo`` says, per joint.
        link_rows: What ``getDynamicsInfo`` says, per link.
        axes: Of each link, the rotation from its inertial frame to its own.
    """

    engine: Any
    client: int
    index: int
    robot: str
    links: tuple[str, ...]
    joint_rows: tuple[tuple[Any, ...], ...]
    link_rows: tuple[tuple[Any, ...], ...]
    axes: Rotation

    def ask(self, function: str, *arguments: object, **options: object) -> Any:  # noqa: ANN401
        """Call a function of PyBullet about this robot; its answers are untyped."""
        return getattr(self.engine, function)(
            self.index, *arguments, physicsClientId=self.client, **options
        )


@contextlib.contextmanager
def loaded(urdf: UrdfText) -> Iterator[Body]:
    """Load a prepared copy into a world that is empty again after the context.

    Raises:
        AbstentionError: PyBullet refuses the copy.
    """
    with (
        tempfile.TemporaryDirectory(prefix="pybullet-") as folder,
        captured() as printed,
    ):
        # Imported here because importing it prints to standard output.
        import pybullet  # noqa: PLC0415

        copy = Path(folder, "robot.urdf")
        copy.write_bytes(urdf.text)
        client = world()
        # The cache goes by path alone and would serve a file that is long gone.
        pybullet.setPhysicsEngineParameter(enableFileCaching=0, physicsClientId=client)
        try:
            index = pybullet.loadURDF(
                str(copy),
                # Cylinders would be read as meshes, about which it says nothing.
                flags=pybullet.URDF_USE_INERTIA_FROM_FILE
                | pybullet.URDF_USE_IMPLICIT_CYLINDER,
                physicsClientId=client,
            )
        except pybullet.error as error:
            reason = _reason(printed(), copy) or str(error)
            # Nobody knows what it had made of the robot by then.
            pybullet.resetSimulation(physicsClientId=client)
            raise AbstentionError(reason) from error
        try:
            yield _body(pybullet, client, index)
        finally:
            pybullet.removeBody(index, physicsClientId=client)


@lru_cache(maxsize=1)
def world() -> int:
    """Return the number of a world, which takes longer to make than to empty."""
    import pybullet  # noqa: PLC0415  likewise

    return int(pybullet.connect(pybullet.DIRECT))


def _body(engine: Any, client: int, index: int) -> Body:  # noqa: ANN401  untyped
    root, robot = engine.getBodyInfo(index, physicsClientId=client)
    count = engine.getNumJoints(index, physicsClientId=client)
    joints = tuple(
        engine.getJointInfo(index, joint, physicsClientId=client)
        for joint in range(count)
    )
    links = tuple(
        engine.getDynamicsInfo(index, link, physicsClientId=client)
        for link in range(BASE, count)
    )
    return Body(
        engine=engine,
        client=client,
        index=index,
        robot=robot.decode(),
        links=(root.decode(), *(row[12].decode() for row in joints)),
        joint_rows=joints,
        link_rows=links,
        axes=Rotation.from_quat([row[4] for row in links]),
    )


def _reason(printed: str, copy: Path) -> str:
    """What PyBullet printed, without its source positions and the copy's path."""
    text = re.sub(r"b3(?:Error|Warning|Printf)\[[^\]]*\]:", "\n", printed)
    lines = (line.strip() for line in text.replace(str(copy), copy.name).splitlines())
    kept = (line for line in lines if line and "build time" not in line)
    return "; ".join(dict.fromkeys(kept))
