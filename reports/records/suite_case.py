"""Cases of the feature suite: expected values, and the result for a converter.

``corpus/suite/<version>/<chapter>/<case>.json`` holds a :class:`Case`. The record of a
robot that is a case has a :class:`CaseRecord`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

# JSON has no infinite numbers.
Number: TypeAlias = float | Literal["inf", "-inf"]
Vector: TypeAlias = tuple[float, float, float]
Quaternion: TypeAlias = tuple[float, float, float, float]
Tensor: TypeAlias = tuple[float, float, float, float, float, float]


class Requirement(StrEnum):
    """Whether a converter must or should have the expected values."""

    MUST = "must"
    SHOULD = "should"


class CaseOutcome(StrEnum):
    """Result of one case and one converter.

    ``pass``: the USD has the expected values. ``refused as expected``: no USD was
    written, as the case requires. ``fail``: a value differs, or a file that must be
    refused was converted. ``refused wrongly``: no USD was written. ``crashed``: the
    converter or the reader of the USD crashed.
    """

    PASS = "pass"  # noqa: S105  no password
    REFUSED = "refused as expected"
    FAIL = "fail"
    REFUSED_WRONGLY = "refused wrongly"
    CRASHED = "crashed"

    @property
    def passes(self) -> bool:
        """Whether the converter does what the case requires."""
        return self in {CaseOutcome.PASS, CaseOutcome.REFUSED}

    @property
    def severity(self) -> int:
        """How bad the outcome is; 0 if the case passes."""
        if self.passes:
            return 0
        return 2 if self is CaseOutcome.CRASHED else 1


class _Part(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """Part of a case; a field that is not stated is not compared."""


class MimicValues(_Part, frozen=True, kw_only=True):
    """Coupling: position = multiplier * position of the leader + offset.

    Attributes:
        joint: The leader.
        multiplier: Ratio of both positions.
        offset: Position where the leader is at zero [rad or m].
    """

    joint: str
    multiplier: float
    offset: float


class JointValues(_Part, frozen=True, kw_only=True):
    """Values of a joint in SI units; null means that the USD states none.

    Attributes:
        type: Type, named as in URDF.
        parent: Parent link.
        child: Child link.
        lower: Lower limit [rad or m]; ``-inf`` if unlimited.
        upper: Upper limit [rad or m]; ``inf`` if unlimited.
        effort: Largest force [N or N m].
        velocity: Largest speed [rad/s or m/s].
        damping: [N m s/rad or N s/m]; null and 0 are equal.
        friction: [N m or N]; likewise.
        mimic: Coupling.
        axis: Unit vector in the frame of the child.
    """

    type: str | UnsetType = UNSET
    parent: str | UnsetType = UNSET
    child: str | UnsetType = UNSET
    lower: Number | UnsetType = UNSET
    upper: Number | UnsetType = UNSET
    effort: float | UnsetType | None = UNSET
    velocity: float | UnsetType | None = UNSET
    damping: float | UnsetType | None = UNSET
    friction: float | UnsetType | None = UNSET
    mimic: MimicValues | UnsetType | None = UNSET
    axis: Vector | UnsetType = UNSET


class BodyValues(_Part, frozen=True, kw_only=True):
    """Mass properties of links that are welded together, or of one link.

    They are the sum over the links, in whatever bodies a USD has for them.

    Attributes:
        links: The links; values are in the frame of the first.
        mass: [kg].
        mass_below: The mass is positive and below this [kg].
        com: Centre of mass [m].
        inertia: (ixx, ixy, ixz, iyy, iyz, izz) about the centre of mass [kg m^2].
    """

    links: tuple[str, ...]
    mass: float | UnsetType = UNSET
    mass_below: float | UnsetType = UNSET
    com: Vector | UnsetType = UNSET
    inertia: Tensor | UnsetType = UNSET


class FrameValues(_Part, frozen=True, kw_only=True):
    """Pose of a link frame in the frame of the root link.

    Attributes:
        position: Origin [m].
        rotation_wxyz: Unit quaternion of the rotation from the link's frame.
    """

    position: Vector | UnsetType = UNSET
    rotation_wxyz: Quaternion | UnsetType = UNSET


class PoseValues(_Part, frozen=True, kw_only=True):
    """Poses of links at one configuration.

    Attributes:
        q: Position of each joint that is not at zero [rad or m]; planar: x, y and z in
            the joint frame, then the angle; floating: x, y, z, then quaternion wxyz.
            Joints that mimic others are listed with the positions that follow.
        links: Pose of each link that is compared.
    """

    q: dict[str, float | tuple[float, ...]] = {}
    links: dict[str, FrameValues]


class AppearanceValues(_Part, frozen=True, kw_only=True):
    """Colour, opacity and texture of a shape, or of a part of it.

    Attributes:
        area: Of the part [m^2].
        color: Linear RGB: sRGB components c of URDF are ((c + 0.055) / 1.055) ** 2.4
            above 0.04045, else c / 12.92.
        opacity: In [0, 1].
        texture: SHA-256 of the image file.
    """

    area: float | UnsetType = UNSET
    color: Vector | UnsetType | None = UNSET
    opacity: float | UnsetType = UNSET
    texture: str | UnsetType | None = UNSET


class ShapeValues(_Part, frozen=True, kw_only=True):
    """One shape, in the frame of its link.

    Attributes:
        kind: ``box``, ``cylinder``, ``capsule``, ``sphere`` or ``mesh``.
        size: Edges of a box; radius and length along Z, without caps, of a cylinder or
            capsule; radius of a sphere [m].
        position: Origin of the shape [m].
        lower: Least coordinates [m].
        upper: Greatest coordinates [m].
        volume: Volume that the surface encloses; negative if faces point inwards [m^3].
        area: [m^2].
        appearances: Of a visual: one per part of equal appearance.
    """

    kind: str | UnsetType = UNSET
    size: tuple[float, ...] | UnsetType = UNSET
    position: Vector | UnsetType = UNSET
    lower: Vector | UnsetType = UNSET
    upper: Vector | UnsetType = UNSET
    volume: float | UnsetType = UNSET
    area: float | UnsetType = UNSET
    appearances: tuple[AppearanceValues, ...] | UnsetType = UNSET


class Expected(_Part, frozen=True, kw_only=True):
    """What a converter makes of a URDF; only what is stated is compared.

    Attributes:
        refused: Whether the file is no robot that USD can have: no USD is written.
        diagnostics: Rules that urdf-usd reports; not compared with other converters.
        name: Name of the robot.
        root: Root link, in whose frame poses are.
        base: ``fixed`` to the world, ``floating``, or ``static`` without moving bodies.
        links: Links that exist, as bodies or as frames.
        dofs: All joints that move.
        total_mass: Of all bodies [kg].
        articulation_roots: Number of articulation roots.
        joints: Values of joints, by name.
        bodies: Mass properties.
        poses: Poses of links.
        colliders: All collision shapes of a link, by link, in any order.
        visuals: All visual shapes, likewise.
    """

    refused: bool = False
    diagnostics: tuple[str, ...] = ()
    name: str | UnsetType = UNSET
    root: str = "base"
    base: Literal["fixed", "floating", "static"] | UnsetType = UNSET
    links: tuple[str, ...] | UnsetType = UNSET
    dofs: tuple[str, ...] | UnsetType = UNSET
    total_mass: float | UnsetType = UNSET
    articulation_roots: int | UnsetType = UNSET
    joints: dict[str, JointValues] = {}
    bodies: tuple[BodyValues, ...] = ()
    poses: tuple[PoseValues, ...] = ()
    colliders: dict[str, tuple[ShapeValues, ...]] = {}
    visuals: dict[str, tuple[ShapeValues, ...]] = {}


class Case(_Part, frozen=True, kw_only=True):
    """One case: what it shows, where that is specified, and the expected values.

    Attributes:
        shows: What it shows, in one sentence.
        clause: Section of a specification, or document, that it comes from.
        requirement: Whether the values must or should be as expected.
        derivation: How values were worked out, unless they are in the URDF.
        expected: The values.
    """

    shows: str
    clause: str
    requirement: Requirement
    derivation: str | None = None
    expected: Expected


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the records."""


class CaseFailureRecord(_Record, frozen=True, kw_only=True):
    """A value that is not as expected.

    Attributes:
        subject: Its link, joint or shape; ``robot`` for others.
        quantity: What differs.
        expected: Expected value, as text.
        actual: Value in the USD, as text; ``none`` if it has none.
    """

    subject: str
    quantity: str
    expected: str
    actual: str


class CaseReadingRecord(_Record, frozen=True, kw_only=True):
    """Comparison of the expected values with one engine's observation of the USD.

    Attributes:
        engine: The engine.
        compared: Number of values that it states.
        failures: Those that are not as expected.
        reason: Why it has no observation.
    """

    engine: str
    compared: int = 0
    failures: tuple[CaseFailureRecord, ...] = ()
    reason: str | None = None


class CaseSummary(_Record, frozen=True, kw_only=True):
    """One case and converter in ``summary.json``.

    Attributes:
        version: Version of the suite.
        chapter: Chapter, by name.
        title: Title of the chapter.
        name: Name in its chapter.
        number: Place in the suite, from 1.
        requirement: Whether the values must or should be as expected.
        outcome: Result, by the engine of OpenUSD.
        reason: Why it does not pass; empty if it does.
    """

    version: str
    chapter: str
    title: str
    name: str
    number: int
    requirement: Requirement
    outcome: CaseOutcome
    reason: str


class CaseRecord(CaseSummary, frozen=True, kw_only=True):
    """Result of one case for one converter.

    Attributes:
        version: Version of the suite.
        chapter: Chapter, by name.
        title: Title of the chapter.
        name: Name in its chapter.
        number: Place in the suite, from 1.
        requirement: Whether the values must or should be as expected.
        outcome: Result, by the engine of OpenUSD.
        reason: Why it does not pass; empty if it does.
        case: The case.
        readings: Of each engine of the USD.
        urdf: Text of the URDF.
    """

    case: Case
    readings: tuple[CaseReadingRecord, ...] = ()
    urdf: str = ""

    @property
    def summary(self) -> CaseSummary:
        """What ``summary.json`` has of the case."""
        names = CaseSummary.__struct_fields__
        return CaseSummary(**{name: getattr(self, name) for name in names})


class Score(_Record, frozen=True, kw_only=True):
    """Number of cases that pass, of all.

    Attributes:
        passed: Number of those that pass.
        total: Number of all.
    """

    passed: int = 0
    total: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(passed=self.passed + other.passed, total=self.total + other.total)


class ChapterScore(_Record, frozen=True, kw_only=True):
    """Score of one converter for one chapter.

    Attributes:
        candidate: Name of the converter in the run.
        chapter: Chapter, by name.
        title: Title of the chapter.
        must: Of the cases that a converter must pass.
        should: Of those that it should pass.
    """

    candidate: str
    chapter: str
    title: str
    must: Score
    should: Score


def chapter_scores(
    cases: Iterable[tuple[str, CaseSummary]], candidates: Iterable[str]
) -> tuple[ChapterScore, ...]:
    """Return the scores, by chapter in the order of the suite, then by converter.

    Args:
        cases: Each with the name of its converter.
        candidates: Names of the converters, in their order.
    """
    ordered = sorted(cases, key=lambda one: (one[1].version, one[1].number))
    titles = {case.chapter: case.title for _, case in ordered}
    scores: dict[tuple[str, str, Requirement], Score] = {}
    for candidate, case in ordered:
        key = candidate, case.chapter, case.requirement
        one = Score(passed=int(case.outcome.passes), total=1)
        scores[key] = scores.get(key, Score()) + one
    return tuple(
        ChapterScore(
            candidate=candidate,
            chapter=chapter,
            title=title,
            must=scores.get((candidate, chapter, Requirement.MUST), Score()),
            should=scores.get((candidate, chapter, Requirement.SHOULD), Score()),
        )
        for chapter, title in titles.items()
        for candidate in candidates
    )


def read_case(text: str) -> Case:
    """Read a case.

    Raises:
        msgspec.DecodeError: It does not follow the schema.
    """
    return msgspec.json.decode(text, type=Case)
