"""Hand-made run records: a small corpus with every verdict."""

from __future__ import annotations

from collections import Counter

from urdf_usd.reports.records.record import (
    CheckHeading,
    CheckRecord,
    DeviationRecord,
    DiagnosticRecord,
    Difference,
    EngineDifference,
    EngineRecord,
    EngineStatus,
    Grade,
    RobotRecord,
    RobotSummary,
    RunSummary,
    SourceRecord,
    Verdict,
)


def position(
    grade: Grade = Grade.EXACT,
    worst: float = 6.2e-8,
    subject: str = "link hand",
    findings: tuple[Difference, ...] = (),
) -> CheckRecord:
    """Build the check of link positions, as two URDF engines report it."""
    return CheckRecord(
        id="kinematics.position",
        title="link position",
        group="kinematics",
        unit="m",
        grade=grade,
        compared=272,
        worst=worst,
        worst_subject=subject,
        bound=2.1e-7,
        tolerance=1e-5,
        differences=(
            EngineDifference(engine="reference", compared=272, largest=worst, subject=subject),
            EngineDifference(engine="mujoco", compared=272, largest=worst * 1.1, subject=subject),
            EngineDifference(
                engine="pybullet",
                compared=0,
                reason="pybullet loses the axis of planar joints",
            ),
        ),
        findings=findings,
    )


def mass(grade: Grade = Grade.EXACT, findings: tuple[Difference, ...] = ()) -> CheckRecord:
    """Build the check of masses, in which pybullet deviates."""
    return CheckRecord(
        id="mass.link",
        title="link mass",
        group="mass",
        unit="1",
        grade=grade,
        compared=9,
        worst=3.1e-8,
        worst_subject="link forearm",
        bound=1.2e-7,
        tolerance=1e-4,
        differences=(
            EngineDifference(
                engine="reference", compared=9, largest=3.1e-8, subject="link forearm"
            ),
            EngineDifference(engine="mujoco", compared=9, largest=0.0),
            EngineDifference(
                engine="pybullet",
                compared=9,
                largest=0.5,
                subject="link camera",
                unequal=1,
            ),
        ),
        findings=findings,
    )


def joint_types(grade: Grade = Grade.EXACT, findings: tuple[Difference, ...] = ()) -> CheckRecord:
    """Build the check of joint types, which is about equality."""
    return CheckRecord(
        id="structure.joint_types",
        title="joint types",
        group="structure",
        unit="",
        grade=grade,
        compared=8,
        differences=(
            EngineDifference(engine="reference", compared=8, unequal=len(findings)),
            EngineDifference(
                engine="mujoco",
                compared=0,
                reason="mujoco welds the root to the world",
            ),
        ),
        findings=findings,
    )


def simulated(unequal: int = 0) -> CheckRecord:
    """Build the check of upper limits with a simulator, which may differ."""
    return CheckRecord(
        id="limits.upper",
        title="upper limit",
        group="limits",
        unit="rad",
        grade=Grade.FAILS if unequal else Grade.EXACT,
        compared=7,
        differences=(
            EngineDifference(engine="reference", compared=7, largest=0.0),
            EngineDifference(engine="mujoco", compared=0, reason="no limits"),
            EngineDifference(engine="openusd", side="usd", compared=7, largest=0.0),
            EngineDifference(engine="newton-usd", side="usd", compared=7, unequal=unequal),
        ),
    )


def limits(grade: Grade = Grade.CLOSE) -> CheckRecord:
    """Build the check of upper limits, where one is unlimited on one side."""
    return CheckRecord(
        id="limits.upper",
        title="upper limit",
        group="limits",
        unit="rad",
        grade=grade,
        compared=7,
        worst=1.7e-7,
        worst_subject="joint elbow",
        bound=1.4e-7,
        tolerance=1e-5,
        differences=(
            EngineDifference(engine="reference", compared=7, largest=1.7e-7, subject="joint elbow"),
        ),
        findings=(
            Difference(
                subject="joint elbow",
                message="The upper limit differs by the rounding of degrees.",
                assigned=Grade.CLOSE,
                expected="inf",
                actual="2.8973",
                amount=1.7e-7,
                bound=1.4e-7,
                tolerance=1e-5,
            ),
        ),
    )


def not_comparable() -> CheckRecord:
    """Build a check that is not comparable."""
    return CheckRecord(
        id="mass.inertia",
        title="link inertia",
        group="mass",
        unit="1",
        grade=Grade.NOT_COMPARABLE,
        compared=0,
        reason="the USD engine computes the inertia of every link",
    )


MISPLACED = Difference(
    subject="link wrist",
    message="The wrist is 3.1 mm away from its position in the URDF.",
    assigned=Grade.FAILS,
    expected="(0.1, -0.2, 0.3)",
    actual="(0.1, -0.2, 0.3031)",
    amount=0.0031,
    bound=2.1e-7,
    tolerance=1e-5,
    configuration="sample 4",
)

ENGINES = (
    EngineRecord(name="reference", side="urdf", status=EngineStatus.OBSERVED, version="0.1.0"),
    EngineRecord(
        name="mujoco",
        side="urdf",
        status=EngineStatus.OBSERVED,
        version="4.0.0",
        notes=("fusestatic was switched off",),
    ),
    EngineRecord(
        name="pybullet",
        side="urdf",
        status=EngineStatus.ABSTAINED,
        version="3.2.7",
        reason="refuses a revolute joint without <limit>",
    ),
    EngineRecord(name="openusd", side="usd", status=EngineStatus.OBSERVED, version="26.11"),
)

DEVIATION = DeviationRecord(
    engine="pybullet",
    id="pybullet-massless-link",
    cause="gives a link without inertial a mass of 1 kg",
    check="mass.link",
    subjects=("link camera", "link tool0"),
    largest=0.5,
)

DIAGNOSTIC = DiagnosticRecord(
    rule="joint-limit-missing",
    severity="warning",
    message="joint 'elbow' is revolute and has no <limit>",
    file="arm.urdf",
    line=41,
    column=5,
    source='<joint name="elbow" type="revolute">',
)


def robot(
    verdict: Verdict = Verdict.EXACT,
    *,
    name: str = "Arm",
    id: str | None = None,  # named as in the record
    reference: str | None = None,
    reason: str = "All values agree.",
    checks: tuple[CheckRecord, ...] | None = None,
    engines: tuple[EngineRecord, ...] = ENGINES,
    deviations: tuple[DeviationRecord, ...] = (),
    diagnostics: tuple[DiagnosticRecord, ...] = (),
) -> RobotRecord:
    """Build the record of one robot."""
    return RobotRecord(
        id=name.lower().replace(" ", "-") if id is None else id,
        name=name,
        source=SourceRecord(reference=reference or f"pybullet:{name}.urdf", sha256="c0ffee" * 10),
        converter="urdf-usd",
        verdict=verdict,
        reason=reason,
        links=9,
        joints=8,
        degrees_of_freedom=7,
        total_mass=18.6512,
        configurations=16,
        base="fixed",
        diagnostics=diagnostics,
        engines=engines,
        checks=(joint_types(), position(), mass()) if checks is None else checks,
        deviations=deviations,
    )


def corpus() -> tuple[RobotRecord, ...]:
    """Build a robot per verdict, ordered by id."""
    robots = (
        robot(name="Zeta"),
        robot(
            Verdict.CLOSE,
            name="Alpha",
            reason="limits are within the tolerance",
            checks=(joint_types(), position(worst=9.9e-8), mass(), limits()),
            deviations=(DEVIATION,),
            diagnostics=(DIAGNOSTIC,),
        ),
        robot(
            Verdict.FAILS,
            name="Shifted",
            reason="link wrist: position differs by 3.1 mm",
            checks=(
                joint_types(),
                position(Grade.FAILS, 0.0031, "link wrist", (MISPLACED,)),
                mass(),
                not_comparable(),
            ),
            deviations=(DEVIATION,),
        ),
        robot(
            Verdict.DISPUTED,
            name="Ambiguous",
            reason="mujoco and pybullet read different masses",
            checks=(joint_types(), position(), mass(Grade.DISPUTED)),
        ),
        robot(
            Verdict.NOT_COMPARABLE,
            name="Quiet",
            reason="no engine reports the mass",
            checks=(not_comparable(),),
        ),
        robot(
            Verdict.UNREADABLE,
            name="Broken",
            reason="The text is not well-formed XML.",
            checks=(),
            engines=(),
            diagnostics=(
                DiagnosticRecord(
                    rule="xml-syntax",
                    severity="error",
                    message="mismatched tag </link>",
                    file="broken.urdf",
                    line=12,
                    column=3,
                ),
            ),
        ),
        robot(
            Verdict.CRASHED,
            name="Fatal",
            reason="the USD engine crashed with signal 11",
            checks=(),
            engines=(
                *ENGINES[:3],
                EngineRecord(
                    name="openusd",
                    side="usd",
                    status=EngineStatus.CRASHED,
                    version="26.11",
                    reason="signal 11",
                    output="Segmentation fault",
                ),
            ),
        ),
        robot(
            Verdict.NOT_AVAILABLE,
            name="Remote",
            reason="the download was refused",
            checks=(),
            engines=(),
        ),
    )
    return tuple(sorted(robots, key=lambda one: one.id))


def summary(robots: tuple[RobotRecord, ...]) -> RunSummary:
    """Summarise robots as a run does."""
    headings = {
        check.id: CheckHeading(id=check.id, title=check.title, group=check.group, unit=check.unit)
        for one in robots
        for check in one.checks
    }
    return RunSummary(
        corpus=("pybullet",),
        environment={"usd-core": "26.11", "mujoco": "4.0.0", "numpy": "2.4.0"},
        options={"bodies": "nested", "base": "auto"},
        verdicts=dict(Counter(one.verdict.value for one in robots)),
        robots=tuple(
            RobotSummary(
                id=one.id,
                name=one.name,
                reference=one.source.reference,
                verdict=one.verdict,
                reason=one.reason,
                grades={check.id: check.grade for check in one.checks},
                worst={check.id: check.worst for check in one.checks if check.worst is not None},
                engines={w.name: w.status for w in one.engines},
                compared=one.compared,
            )
            for one in robots
        ),
        checks=tuple(headings.values()),
    )
