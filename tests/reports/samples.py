# ruff: noqa: ANN401  # fields of records
"""Hand-made run records: a small corpus with every verdict, and cases of a suite."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from msgspec import structs

from urdf_usd.conformance.converters.candidates import ReadyUsds
from urdf_usd.conformance.execution.record import summary_of
from urdf_usd.reports.records import record as r
from urdf_usd.reports.records import scene as s
from urdf_usd.reports.records.suite_case import Case, Expected, Requirement
from urdf_usd.reports.summary import Figures


def _check(id: str, title: str, unit: str, grade: r.Grade, **fields: Any) -> r.CheckRecord:
    return r.CheckRecord(
        id=id, title=title, group=id.partition(".")[0], unit=unit, grade=grade, **fields
    )


def _seen(engine: str, compared: int, largest: float | None = None, **more: Any) -> Any:
    return r.EngineDifference(engine=engine, compared=compared, largest=largest, **more)


def position(
    grade: r.Grade = r.Grade.EXACT,
    worst: float = 6.2e-8,
    subject: str = "link hand",
    findings: tuple[r.Difference, ...] = (),
) -> r.CheckRecord:
    """Build the check of link positions, as two URDF engines report it."""
    return _check(
        *("kinematics.position", "link position", "m", grade),
        compared=272,
        worst=worst,
        worst_subject=subject,
        bound=2.1e-7,
        tolerance=1e-5,
        differences=(
            _seen("reference", 272, worst, subject=subject),
            _seen("mujoco", 272, worst * 1.1, subject=subject),
            _seen("pybullet", 0, reason="pybullet loses the axis of planar joints"),
        ),
        findings=findings,
    )


def mass(grade: r.Grade = r.Grade.EXACT, findings: tuple[r.Difference, ...] = ()) -> r.CheckRecord:
    """Build the check of masses, in which pybullet deviates."""
    camera = "link camera"
    return _check(
        *("mass.link", "link mass", "1", grade),
        compared=9,
        worst=3.1e-8,
        worst_subject="link forearm",
        bound=1.2e-7,
        tolerance=1e-4,
        differences=(
            _seen("reference", 9, 3.1e-8, subject=camera),
            _seen("mujoco", 9, 0.0),
            _seen("pybullet", 9, 0.5, subject=camera, unequal=1),
        ),
        findings=findings,
    )


def joint_types(
    grade: r.Grade = r.Grade.EXACT, findings: tuple[r.Difference, ...] = ()
) -> r.CheckRecord:
    """Build the check of joint types, which is about equality."""
    return _check(
        *("structure.joint_types", "joint types", "", grade),
        compared=8,
        differences=(
            _seen("reference", 8, unequal=len(findings)),
            _seen("mujoco", 0, reason="mujoco welds the root to the world"),
        ),
        findings=findings,
    )


def limits(unequal: int = 0) -> r.CheckRecord:
    """Build the check of upper limits: one is unlimited on one side, a simulator reads others."""
    allowed: dict[str, Any] = {"bound": 1.4e-7, "tolerance": 1e-5}
    joint = r.Difference(
        subject="joint elbow",
        item="elbow",
        message="The upper limit differs by the rounding of degrees.",
        assigned=r.Grade.CLOSE,
        expected="unlimited",
        actual=2.8973,
        unit="rad",
        amount=1.7e-7,
        **allowed,
    )
    return _check(
        *("limits.upper", "upper limit", "rad", r.Grade.FAILS if unequal else r.Grade.CLOSE),
        compared=7,
        worst=1.7e-7,
        worst_subject="joint elbow",
        **allowed,
        differences=(
            _seen("reference", 7, 1.7e-7, subject="joint elbow"),
            _seen("mujoco", 0, reason="no limits"),
            _seen("openusd", 7, 0.0, side="usd"),
            _seen("newton-usd", 7, side="usd", unequal=unequal),
        ),
        findings=(joint,),
    )


def not_comparable() -> r.CheckRecord:
    reason = "the USD engine computes the inertia of every link"
    where = "mass.inertia", "link inertia", "1", r.Grade.NOT_COMPARABLE
    return _check(*where, compared=0, reason=reason)


MISPLACED = r.Difference(
    subject="link wrist",
    item="wrist",
    message="The wrist is 3.1 mm away from its position in the URDF.",
    assigned=r.Grade.FAILS,
    expected=(0.1, -0.2, 0.3),
    actual=(0.1, -0.2, 0.3031),
    unit="m",
    amount=0.0031,
    bound=2.1e-7,
    tolerance=1e-5,
    configuration="sample 4",
    prim="/arm/wrist",
)
UNTYPED = r.Difference(
    subject="joint elbow", message="joint elbow: is missing", assigned=r.Grade.FAILS, item="elbow"
)

_ORDER = ("shoulder", "elbow")
_OBSERVED = r.EngineStatus.OBSERVED


def _engine(name: str, version: str, status: r.EngineStatus = _OBSERVED, **more: Any) -> Any:
    side = more.pop("side", "urdf")
    return r.EngineRecord(name=name, side=side, status=status, version=version, **more)


ENGINES: tuple[r.EngineRecord, ...] = (
    _engine("reference", "0.1.0", joint_order=_ORDER),
    _engine("mujoco", "4.0.0", notes=("fusestatic was switched off",), joint_order=_ORDER[::-1]),
    _engine(
        *("pybullet", "3.2.7", r.EngineStatus.UNSUPPORTED),
        reason="refuses a revolute joint without <limit>",
    ),
    _engine("openusd", "26.11", side="usd"),
)

DEVIATION = r.DeviationRecord(
    engine="pybullet",
    id="pybullet-massless-link",
    cause="gives a link without inertial a mass of 1 kg",
    check="mass.link",
    subjects=("link camera", "link tool0"),
    largest=0.5,
)
_INERTIA = r.DeviationRecord(
    engine="openusd",
    id="openusd-inertia",
    cause="OpenUSD takes moments below 1e-5 for unauthored",
    check="mass.link",
    subjects=("link toe", "link heel"),
    largest=13.0,
    values=tuple(
        r.Difference(
            subject=f"link {name}",
            item=name,
            message="",
            expected=(1e-06, 2e-06, 3e-06),
            actual=(4e-05, 4e-05, 4e-05),
            unit="kg m^2",
            amount=amount,
        )
        for name, amount in (("toe", 13.0), ("heel", math.inf))
    ),
)

DIAGNOSTIC = r.DiagnosticRecord(
    rule="joint-limit-missing",
    severity="warning",
    message="joint 'elbow' is revolute and has no <limit>",
    file="arm.urdf",
    line=41,
    column=5,
    source='<joint name="elbow" type="revolute">',
)
_SYNTAX = r.DiagnosticRecord(
    rule="xml-syntax",
    severity="error",
    message="mismatched tag </link>",
    file="broken.urdf",
    line=12,
    column=3,
)


def robot(
    verdict: r.Verdict = r.Verdict.EXACT,
    *,
    name: str = "Arm",
    reference: str | None = None,
    **fields: Any,
) -> r.RobotRecord:
    """Build the record of one robot."""
    usual: dict[str, Any] = {
        "id": name.lower().replace(" ", "-"),
        "reason": "All values agree.",
        "engines": ENGINES,
        "checks": (joint_types(), position(), mass()),
        "links": 9,
        "joints": 8,
        "degrees_of_freedom": 7,
        "total_mass": 18.6512,
        "configurations": 16,
        "base": "fixed",
    }
    return r.RobotRecord(
        name=name,
        source=r.SourceRecord(reference=reference or f"pybullet:{name}.urdf", sha256="c0ffee" * 10),
        converter="urdf-usd",
        candidate="urdf-usd",
        verdict=verdict,
        **usual | fields,
    )


def corpus() -> tuple[r.RobotRecord, ...]:
    """Build a robot per verdict, ordered by id; that of Alpha has every part."""
    crashed = structs.replace(
        ENGINES[3], status=r.EngineStatus.CRASHED, reason="signal 11", output="Segmentation fault"
    )
    alpha = robot(
        r.Verdict.CLOSE,
        name="Alpha",
        reason="limits are within the tolerance",
        checks=(joint_types(), position(worst=9.9e-8), mass(), limits()),
        deviations=(DEVIATION, _INERTIA),
        diagnostics=(DIAGNOSTIC,),
        profile="physx",
        variants={"/arm:Physics": "physx"},
        asset=r.AssetRecord(root_layer="arm.usda", files=1, size=2),
        lint=(structs.replace(DIAGNOSTIC, rule="mass-implausible", remedy="Write kilograms."),),
        ledger=tuple(
            r.LedgerRecord(part=part, count=count, fate=fate, where=where)
            for part, count, fate, where in (
                ("link", 9, r.CoverageStatus.CONVERTED, "a prim each"),
                ("<gazebo>", 4, r.CoverageStatus.KEPT, "custom data"),
                ("mesh", 1, r.CoverageStatus.LEFT_OUT, "gone"),
            )
        ),
        description=r.DescriptionRecord(
            file="robot.toml",
            sha256="ab12",
            files={"robot.srdf": "cd34"},
            settings=("drive: elbow, <wrist>", "self-collision: off"),
        ),
        touching=(r.OverlapRecord(links=("arm", "hand"), distance=-0.0012),),
    )
    source = structs.replace(
        alpha.source,
        license="BSD-3-Clause",
        commit="c0ffee",
        arguments={"side": "left"},
        files=(r.FileRecord(path="urdf/arm.urdf", sha256="c0ffee" * 10, size=3),),
    )
    unread: dict[str, Any] = {"checks": (), "engines": ()}
    robots = (
        robot(name="Zeta"),
        structs.replace(alpha, source=source),
        robot(
            r.Verdict.FAILS,
            name="Shifted",
            reason="link wrist: position differs by 3.1 mm",
            checks=(
                joint_types(r.Grade.FAILS, (UNTYPED,)),
                position(r.Grade.FAILS, 0.0031, "link wrist", (MISPLACED,)),
                mass(),
                not_comparable(),
                limits(unequal=1),
            ),
            deviations=(DEVIATION,),
        ),
        robot(
            r.Verdict.DISPUTED,
            name="Ambiguous",
            reason="mujoco and pybullet read different masses",
            checks=(joint_types(), position(), mass(r.Grade.DISPUTED)),
        ),
        robot(
            r.Verdict.INCOMPLETE,
            name="Part",
            reason="arm.stl is not found",
            checks=(position(), not_comparable()),
        ),
        robot(
            r.Verdict.NOT_COMPARABLE,
            name="Quiet",
            reason="no engine reports the mass",
            checks=(not_comparable(),),
        ),
        robot(
            r.Verdict.UNREADABLE,
            name="Broken",
            reason="The text is not well-formed XML.",
            **unread,
            diagnostics=(_SYNTAX,),
        ),
        robot(
            r.Verdict.CRASHED,
            name="Fatal",
            reason="the USD engine crashed with signal 11",
            checks=(),
            engines=(*ENGINES[:3], crashed),
        ),
        robot(r.Verdict.NOT_AVAILABLE, name="Remote", reason="the download was refused", **unread),
    )
    return tuple(sorted(robots, key=lambda one: one.id))


def scene() -> s.Scene:
    """Build a scene in which the wrist, below the elbow, is wrong, and a leg not finite."""
    links = ("trunk", "elbow", "wrist", "thumb", "leg")
    model = s.SceneModel(
        side="urdf",
        reader="reference",
        root="trunk",
        links=tuple(s.SceneLink(name=name) for name in links),
        joints=(
            _joint("trunk", "elbow", s.MotionKind.TURN),
            _joint("trunk", "leg", s.MotionKind.SLIDE),
            _joint("elbow", "wrist", None),
            _joint("wrist", "thumb", s.MotionKind.TURN, "to elbow"),
        ),
    )
    zero = (0.0,) * 5
    errors = s.LinkErrors(
        links=links,
        configurations=("zero", "upper"),
        positions=(zero, (0.0, 1e-8, 0.02, 0.3, None)),
        rotations=((0.0, 0.0, 0.5, 0.0, 0.0), zero),
    )
    agreement = s.Agreement(engines=("reference", "mujoco"), position=2e-7, link="wrist")
    return s.Scene(mark=0.1, models=(model,), errors=errors, agreements=(agreement,))


def _joint(parent: str, child: str, kind: s.MotionKind | None, leader: str = "") -> s.SceneJoint:
    motion = s.Motion(
        kind=kind or s.MotionKind.TURN, label="", axis=(0.6, 0, 0.8), lower=-1, upper=2
    )
    return s.SceneJoint(
        name=f"to {child}",
        parent=parent,
        child=child,
        rest=(1.0, 0.0, 0.0, 0.1, 0.0, 1.0, 0.0, -0.2, 0.0, 0.0, 1.0, 0.3),
        anchor=(0.0, 0.0, 0.0),
        motions=(motion,) if kind else (),
        mimic=s.Coupling(leader=leader, multiplier=2.0, offset=0.1) if leader else None,
    )


def known(robot: str, grade: str = "fails", expected: str = "") -> r.FailureRecord:
    """Build a failure of the check of positions."""
    return r.FailureRecord(
        robot=robot,
        check="kinematics.position",
        grade=grade,
        expected=expected,
        message="link <wrist> moved" if grade else "",
        reason="an upstream bug" if expected else "",
    )


def baseline() -> r.BaselineRecord:
    """Build a comparison with a baseline, with every kind of result."""
    return r.BaselineRecord(
        new=(known("shifted"),),
        worse=(known("alpha", "fails", "close"),),
        expired=(structs.replace(known("quiet", "fails", "fails"), expires="2026-01-31"),),
        fixed=(known("zeta", "", "fails"),),
        expected=(structs.replace(known("ambiguous", "disputed", "disputed"), check="mass.link"),),
        absent=3,
    )


def cases() -> tuple[r.RobotRecord, ...]:
    """Build three cases of the feature suite, as two converters convert them."""
    shifted = robot(
        r.Verdict.FAILS, checks=(position(r.Grade.FAILS, 0.0031, "link wrist", (MISPLACED,)),)
    )
    refused = robot(r.Verdict.UNREADABLE, checks=(), engines=(), reason="two roots")
    ours, peer = "urdf-usd", "peer"
    outcomes = (
        (1, "axis", ours, robot(), r.CaseOutcome.PASS),
        (1, "axis", peer, shifted, r.CaseOutcome.FAIL),
        (2, "two-roots", ours, refused, r.CaseOutcome.REFUSED),
        (2, "two-roots", peer, robot(), r.CaseOutcome.FAIL),
        (3, "limits", ours, robot(), r.CaseOutcome.PASS),
        (3, "limits", peer, refused, r.CaseOutcome.REFUSED_WRONGLY),
    )
    return tuple(
        structs.replace(
            record,
            id=f"suite--{name}",
            name=name,
            candidate=candidate,
            source=r.SourceRecord(reference=f"suite:{name}"),
            asset=r.AssetRecord(root_layer="a.usda", files=1, size=2000) if record.checks else None,
            case=_case(name, number, outcome),
        )
        for number, name, candidate, record, outcome in outcomes
    )


def _case(name: str, number: int, outcome: r.CaseOutcome) -> r.CaseRecord:
    failure = r.Difference(
        subject="joint j", message="joint j: axis y, expected x", expected="x", actual="y"
    )
    reading = r.CaseReadingRecord(
        engine="openusd", compared=4, failures=(failure,) if outcome is r.CaseOutcome.FAIL else ()
    )
    must = Requirement.SHOULD if name == "limits" else Requirement.MUST
    case = Case(shows=f"The <{name}>.", clause="URDF 1.0", requirement=must, expected=Expected())
    return r.CaseRecord(
        version="2026.12",
        chapter="tree" if name == "two-roots" else "joints",
        title="Tree" if name == "two-roots" else "Joints",
        name=name,
        number=number,
        requirement=must,
        outcome=outcome,
        reason="" if outcome.passes else "joint j: axis is y, not x",
        case=case,
        readings=(reading,),
        urdf="<robot/>",
    )


def summary(
    robots: tuple[r.RobotRecord, ...], converters: tuple[str, ...] = ("urdf-usd",)
) -> r.RunSummary:
    """Summarise robots as a run does."""
    made = summary_of(
        robots,
        ("pybullet",),
        {"bodies": "nested", "base": "auto"},
        converters=[ReadyUsds(name, Path()) for name in converters],
        gated=converters[0],
    )
    headings = {
        check.id: r.CheckHeading(id=check.id, title=check.title, group=check.group, unit=check.unit)
        for one in robots
        for check in one.checks
    }
    return structs.replace(
        made,
        environment={"usd-core": "26.11", "mujoco": "4.0.0", "numpy": "2.4.0"},
        checks=tuple(headings.values()),
        converters=tuple(
            structs.replace(one, title=f"{one.name} 1.0", recipe=one.name)
            for one in made.converters
        ),
    )


def figures(robots: tuple[r.RobotRecord, ...]) -> Figures:
    """Compute what reports show of robots."""
    return Figures.of(summary(robots), robots)
