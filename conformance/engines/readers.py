"""Engines that are parsers of optional libraries, of URDF and of MJCF.

MuJoCo defines MJCF: where other parsers differ, they deviate. Which of their bodies and joints is
which link and joint is MuJoCo's reading, by the order of the file; what they state of these is
theirs. Links between several joints of a body, and free bodies besides the root, have no frames.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct, field, structs

from urdf_usd.conformance.engines import protocol, statements
from urdf_usd.conformance.engines.mjcf import kept_robot
from urdf_usd.conformance.engines.prepared_urdf import Step, UrdfCopy, prepare
from urdf_usd.conformance.engines.statements import Array
from urdf_usd.conformance.observation import robot as obs


class Kinematics(Struct, frozen=True, eq=False):
    initial: Array  # all coordinates at the initial pose
    # poses of all bodies, from all coordinates
    place: Callable[[Array], statements.Placed]
    # (K, n) coordinates of a joint in the form of the library, from those of an observation
    convert: Callable[[obs.JointObservation, Array], Array] = lambda _, values: values
    world: Array = field(default_factory=lambda: np.eye(4))  # pose of the body of number -1

    def frames(
        self,
        bodies: Mapping[str, int],
        joints: Iterable[obs.JointObservation],
        starts: Mapping[str, int],
        chosen: obs.Configurations,
    ) -> obs.Frames:
        """State the poses of links, by the numbers of their bodies, the root first.

        ``starts`` are numbers of the first coordinates of joints; others are not set.
        """
        stated = {joint.name: joint for joint in joints if joint.name in starts}
        positions = np.tile(self.initial, (chosen.count, 1))
        for name, values in statements.settable_positions(stated.values(), chosen).items():
            own = self.convert(stated[name], values)
            positions[:, starts[name] : starts[name] + own.shape[1]] = own
        rows = list(bodies.values())

        def place(row: int) -> statements.Placed:
            origins, turns = self.place(positions[row])
            origins = np.concatenate([origins, self.world[np.newaxis, :3, 3]])
            return origins[rows], np.concatenate([turns, self.world[np.newaxis, :3, :3]])[rows]

        return statements.build_frames(tuple(bodies), chosen, place)


def one_axis(slides: bool, lower: float, upper: float, **values: float) -> obs.JointObservation:
    """State a joint with one axis, without names; values that are not finite are absent."""
    unlimited = math.isinf(lower) and math.isinf(upper)
    kind = obs.JointType.CONTINUOUS if unlimited else obs.JointType.REVOLUTE
    kind = obs.JointType.PRISMATIC if slides else kind
    stated = obs.JointObservation("", kind, "", "", lower=float(lower), upper=float(upper))
    known = {name: float(value) for name, value in values.items() if math.isfinite(value)}
    return structs.replace(stated, **known)


def named(joint: obs.JointObservation, name: str, parent: str, child: str) -> obs.JointObservation:
    return structs.replace(joint, name=name, parent=parent, child=child)


class UrdfModel(Struct, frozen=True, eq=False):
    robot: str
    root: str
    links: Sequence[obs.LinkObservation]  # in the order of the bodies of ``kinematics``
    joints: Sequence[obs.JointObservation]
    starts: Mapping[str, int]  # number of the first coordinate of each joint that has any
    kinematics: Kinematics
    notes: Iterable[str] = ()
    is_ordered: bool = False  # whether joints are in the library's own order


class _Library(Struct, frozen=True):
    title: str  # as its makers write it
    module: str
    distribution: str

    def availability(self) -> protocol.Availability:
        return protocol.optional_engine(self.module, self.distribution, self.title.lower())


class UrdfReader(_Library, frozen=True):
    steps: Sequence[Step]
    read: Callable[[UrdfCopy], UrdfModel]
    states: frozenset[obs.Quantity]  # besides those of every engine
    precision: float = obs.DOUBLE_PRECISION
    side: protocol.Side = protocol.Side.URDF

    @property
    def name(self) -> str:
        return self.title.lower()

    def observe(self, request: protocol.Request) -> obs.Observation:
        urdf = prepare(request.path, self.steps)
        model = self.read(urdf)
        bodies = {link.name: number for number, link in enumerate(model.links)}
        reading = obs.Observation(
            engine=self.name,
            robot=model.robot,
            root=model.root,
            states=statements.OF_ANY_URDF | self.states,
            links=tuple(model.links),
            joints=tuple(model.joints),
            joint_order=statements.moving_joints(model.joints) if model.is_ordered else (),
            notes=tuple(model.notes),
            precision=self.precision,
        )

        def frames(links: tuple[str, ...]) -> obs.Frames:
            framed = {link: bodies[link] for link in links}
            chosen = request.configurations
            return model.kinematics.frames(framed, model.joints, model.starts, chosen)

        return statements.with_frames(reading, self.title, urdf, request, frames)


class MjcfBody(Struct, frozen=True):
    # each with the number of its first coordinate, and without names
    joints: Sequence[tuple[int, obs.JointObservation]]
    mass: obs.MassProperties | None
    head: int | None = None  # number of the body that has its mass, if that is another


class MjcfModel(Struct, frozen=True, eq=False):
    bodies: Sequence[MjcfBody]  # in the order of the file, without the world
    # It converts no coordinates of joints with one axis, which count from the initial pose.
    kinematics: Kinematics
    notes: Iterable[str] = ()


class MjcfReader(_Library, frozen=True):
    read: Callable[[str], MjcfModel]
    # Besides those of every engine.
    states: frozenset[obs.Quantity] = frozenset({obs.Quantity.EFFORT})
    precision: float = obs.DOUBLE_PRECISION
    side: protocol.Side = protocol.Side.MJCF

    @property
    def name(self) -> str:
        return f"{self.title.lower()}-mjcf"

    def observe(self, request: protocol.Request) -> obs.Observation:
        robot, chosen = kept_robot(request.path), request.configurations
        own, count = robot.structure, robot.model.nbody - 1
        link_of = {body: link for link, body in robot.bodies.items()}
        try:
            model = self.read(request.path)
        except (RuntimeError, ValueError, IndexError) as error:
            text = " ".join(str(error).split())
            raise protocol.UnsupportedError(f"{self.title}: {text}") from error
        if (number := len(model.bodies)) != count:
            raise protocol.UnsupportedError(f"{self.title} reads {number} of {count} bodies")
        joints = {joint.name: joint for joint in own.joints}
        starts: dict[str, int] = {}
        links = {link.name: obs.LinkObservation(link.name) for link in own.links}
        for index, body in enumerate(model.bodies, start=1):
            link = link_of[index]
            head = link if body.head is None else link_of[body.head + 1]
            links[link] = obs.LinkObservation(link, body.mass, head)
            first, several = robot.model.body_jntadr[index], robot.model.body_jntnum[index]
            places = (robot.places.get(joint) for joint in range(first, first + several))
            known = [joints[place.name] for place in places if place]
            found = body.joints if known else ()
            if len(known) != len(found):
                reads = f"{len(found)} of {len(known)} joints of body {link}"
                raise protocol.UnsupportedError(f"{self.title} reads {reads}")
            # Newton has slides before hinges.
            slides = obs.JointType.PRISMATIC
            known.sort(key=lambda joint: joint.type is not slides)
            found = sorted(found, key=lambda one: one[1].type is not slides)
            for joint, (start, stated) in zip(known, found, strict=True):
                joints[joint.name] = named(stated, joint.name, joint.parent, joint.child)
                starts[joint.name] = start
        read = tuple(joints.values())
        blocked = statements.unreachable_joints(read, chosen, frozenset({obs.JointType.FLOATING}))
        reached = statements.reachable_links(own.root, read, blocked)

        def convert(joint: obs.JointObservation, values: Array) -> Array:
            if obs.COORDINATES[joint.type] > 1:
                return model.kinematics.convert(joint, values)
            return values + float(model.kinematics.initial[starts[joint.name]])

        return obs.Observation(
            engine=self.name,
            robot=own.robot,
            root=own.root,
            states=statements.OF_ANY_URDF | self.states,
            links=tuple(links.values()),
            joints=read,
            frames=structs.replace(model.kinematics, convert=convert).frames(
                {link: robot.bodies[link] - 1 for link in reached if link in robot.bodies},
                [joint for joint in read if joint.name not in blocked],
                starts,
                chosen,
            ),
            notes=(*model.notes, *statements.blocked_note(self.title, blocked)),
            precision=self.precision,
        )
