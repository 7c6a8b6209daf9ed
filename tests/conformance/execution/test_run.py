"""Runs and checks: engines, conversion, verdict and record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec import structs

from tests.conformance.direct import examine_in_this_process
from tests.conformance.runs import tree
from tests.robots import ROBOT
from urdf_usd.conformance.engines.protocol import (
    Available,
    MissingEngineError,
    Side,
    Unavailable,
    UnknownEngineError,
)
from urdf_usd.conformance.execution import converting, worker
from urdf_usd.conformance.execution.job import InstalledEngine, select_engines
from urdf_usd.conformance.execution.run import check, run
from urdf_usd.conformance.options import CheckOptions, RunOptions
from urdf_usd.converter import Conversion, ConvertOptions, convert
from urdf_usd.converter.conversion import convert_parsed
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.options import BodyNesting
from urdf_usd.converter.robot.model import BaseOption
from urdf_usd.converter.urdf.parse import Parsed
from urdf_usd.corpus import UnavailableSource, resolve_corpora
from urdf_usd.reports.records.record import EngineStatus, Grade, RobotRecord, Verdict

# A serial arm without mass at its root, a robot with prismatic and continuous joints,
# a quadruped with welded links, an object without joints.
ROBOTS = (
    "pybullet:kuka_iiwa/model.urdf",
    "pybullet:r2d2.urdf",
    "pybullet:a1/a1.urdf",
    "pybullet:cube.urdf",
)
# A robot of the default corpus with a deformable body.
_NOT_READ = {"pybullet--torus_deform": "robot-deformable"}
DEFAULTS = RunOptions(jobs=2)
ALONE = RunOptions(engines=("reference",), jobs=1)


def _run(
    references: Sequence[str], out: Path, options: RunOptions = DEFAULTS
) -> dict[str, RobotRecord]:
    records: list[RobotRecord] = []
    run(resolve_corpora(references), out, options, progress=records.append)
    return {record.id: record for record in records}


def test_real_robots_conform_and_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    records = _run(ROBOTS, tmp_path / "first")
    _run(ROBOTS[::-1], tmp_path / "second", RunOptions(jobs=1))

    for record in records.values():
        statuses = {engine.name: engine.status for engine in record.engines}
        assert record.verdict.conforms, (record.id, record.reason)
        assert {"mujoco", "pybullet", "reference", "openusd"} <= statuses.keys()
        assert set(statuses.values()) == {EngineStatus.OBSERVED}
    first, second = tree(tmp_path / "first"), tree(tmp_path / "second")
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []
    assert not [name for name in first if name.startswith("timings")]


def test_only_selected_engines_run_and_times_are_recorded_on_request(tmp_path: Path) -> None:
    options = RunOptions(engines=("mujoco",), timed=True)
    (record,) = _run(["pybullet:cartpole.urdf"], tmp_path, options).values()

    assert [engine.name for engine in record.engines] == ["mujoco", "openusd", "reference"]
    (file,) = (tmp_path / "timings").iterdir()
    times = json.loads(file.read_text())
    assert 0 < times["seconds"] < times["examination"]


def test_summary_is_sorted_and_complete(tmp_path: Path) -> None:
    sources = (
        UnavailableSource("z", "rd:z_description", "no network"),
        *resolve_corpora(["pybullet:cube.urdf", "pybullet:block.urdf"]),
    )

    summary = run(sources, tmp_path, ALONE, corpus=("pybullet", "rd"))

    assert [robot.id for robot in summary.robots] == ["pybullet--block", "pybullet--cube", "z"]
    assert summary.robots[2].verdict is Verdict.NOT_AVAILABLE
    assert summary.robots[2].reason == "no network"
    assert summary.verdicts == {"exact": 2, "not available": 1}


def test_unreadable_urdf_lists_the_engines_that_read_it(tmp_path: Path) -> None:
    light = tmp_path / "light.urdf"
    light.write_text(
        '<robot name="r"><link name="a"><inertial><mass value="-1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>'
    )

    records = _run([str(light), "pybullet:torus_deform.urdf"], tmp_path / "out")

    refused, torus = records["file--light"], records["pybullet--torus_deform"]
    assert refused.verdict is torus.verdict is Verdict.UNREADABLE
    assert refused.reason.endswith("pybullet and urdfdom read it nevertheless")
    assert "nevertheless" not in torus.reason
    assert torus.diagnostics[0].rule == "robot-deformable"
    assert torus.diagnostics[0].file == "torus_deform.urdf"
    assert not (tmp_path / "out" / "assets").exists()


def test_engine_that_is_not_installed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownEngineError, match=r"mujoco, .*pybullet, reference"):
        run((), tmp_path, RunOptions(engines=("oracle",), jobs=1))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("requested", "absent", "chosen"),
    [
        # An engine that is absent is recorded if it was requested.
        ((), "drake", ["mujoco", "newton-usd", "reference", "openusd"]),
        (("drake",), "drake", ["drake", "reference", "openusd"]),
        # A verdict needs two of them.
        ((), "openusd", None),
    ],
)
def test_engines_are_selected(
    requested: tuple[str, ...],
    absent: str,
    chosen: list[str] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def listed(*_: object, **__: object) -> list[InstalledEngine]:
        names = {"URDF": ("drake", "mujoco", "reference"), "USD": ("newton-usd", "openusd")}
        here, gone = Available("1.0"), Unavailable("it is not installed", "install it")
        return [
            InstalledEngine(name, Side[side], gone if name == absent else here)
            for side, of_side in names.items()
            for name in of_side
        ]

    monkeypatch.setattr(worker, "call", listed)
    if chosen is None:
        with pytest.raises(MissingEngineError, match="openusd is not usable: it is not"):
            select_engines(requested)
    else:
        assert sorted(one.name for one in select_engines(requested)) == sorted(chosen)


# check


@pytest.mark.parametrize(
    ("base", "grade"),
    [
        # The URDF does not define the base, so either may be intended.
        (BaseOption.AUTO, Grade.NOT_APPLICABLE),
        (BaseOption.FIXED, Grade.EXACT),
        (BaseOption.FLOATING, Grade.FAILS),
    ],
)
def test_base_is_compared_if_the_user_requests_one(
    tmp_path: Path, base: BaseOption, grade: Grade
) -> None:
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(ROBOT)
    usd = convert(urdf, tmp_path / "usd", ConvertOptions(base=BaseOption.FIXED)).root_layer

    record = check(urdf, usd, CheckOptions(base=base, engines=("reference",)))

    assert {one.id: one.grade for one in record.checks}["structure.base"] is grade
    assert record.base == "fixed"


def test_check_of_an_invalid_urdf_raises(tmp_path: Path) -> None:
    (tmp_path / "bad.urdf").write_text("<robot/>")

    with pytest.raises(SourceError, match="robot-empty"):
        check(tmp_path / "bad.urdf", tmp_path / "none.usda")


def test_links_that_touch_are_listed_with_their_distance(tmp_path: Path) -> None:
    """Not those that a joint connects, nor those of one rigid group.

    The centre of a cube with edges of 0.4 m is 0.3 m from that of a ball, a capsule without
    length, and 1 m from the base. The tip is welded to the cube, and overlaps both.
    """
    urdf = tmp_path / "r.urdf"
    text, cube = '<robot name="r">', '<box size="0.4 0.4 0.4"/>'
    for name, parent, kind, x, shape in (
        ("base", "", "", 0.0, cube),
        ("left", "base", "continuous", 1.0, cube),
        ("right", "base", "continuous", 1.3, '<capsule radius="0.2" length="0"/>'),
        ("tip", "left", "fixed", 0.15, '<box size="0.1 0.1 0.1"/>'),
        ("far", "base", "continuous", -0.41, cube),
    ):
        text += (
            f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" '
            'izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>'
            f"{shape}</geometry></collision></link>"
        )
        if parent:
            text += (
                f'<joint name="to_{name}" type="{kind}"><parent link="{parent}"/><child '
                f'link="{name}"/><origin xyz="{x} 0 0"/><axis xyz="0 0 1"/></joint>'
            )
    urdf.write_text(f"{text}</robot>")

    record = check(urdf, convert(urdf, tmp_path / "usd").root_layer)

    found = {pair.links: pair.distance for pair in record.touching or ()}
    # 0.4 less 0.3; and 0.2 + 0.05 less 0.15.
    expected = {("left", "right"): -0.1, ("right", "tip"): -0.1}
    assert found == pytest.approx(expected, abs=1e-5)
    assert record.verdict.conforms


# Steps that end a process, done in this process.


def test_run_requires_a_floating_base_where_the_urdf_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def weld(parsed: Parsed, folder: Path, options: ConvertOptions) -> Conversion:
        return convert_parsed(parsed, folder, structs.replace(options, base=BaseOption.FIXED))

    examine_in_this_process(monkeypatch, {})
    monkeypatch.setattr(converting, "convert_parsed", weld)

    (record,) = _run(["pybullet:r2d2.urdf"], tmp_path).values()

    assert record.verdict is Verdict.FAILS
    assert "base" in record.reason


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("read", "the URDF reader crashed: x"),
        ("plan", "the URDF reader crashed: x"),
        ("lint", "lint crashed: x"),
        ("convert", "the converter crashed: x"),
        ("urdf reference", "reference crashed: x"),
        ("usd openusd", "the USD engine crashed: x"),
        ("compare", "the comparison crashed: x"),
    ],
)
def test_crash_of_every_step_is_recorded_and_costs_one_robot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, reason: str
) -> None:
    examine_in_this_process(monkeypatch, {step: "x"}, "cube")

    records = _run(["pybullet:cube.urdf", "pybullet:block.urdf"], tmp_path, ALONE)

    assert records["pybullet--block"].verdict is Verdict.EXACT
    crashed = records["pybullet--cube"]
    assert (crashed.verdict, crashed.reason) == (Verdict.CRASHED, reason)


def test_crash_of_the_reference_engine_is_recorded_for_an_unreadable_urdf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examine_in_this_process(monkeypatch, {"urdf reference": "x"})
    options = RunOptions(engines=("mujoco",), jobs=1)

    (record,) = _run(["pybullet:torus_deform.urdf"], tmp_path, options).values()

    assert record.verdict is Verdict.CRASHED
    assert record.reason == "reference crashed: x"
    status = {engine.name: engine.status for engine in record.engines}
    assert status["reference"] is EngineStatus.CRASHED
    assert status["mujoco"] is EngineStatus.UNSUPPORTED


# Whole corpora.


@pytest.mark.corpus
@pytest.mark.parametrize("bodies", BodyNesting)
def test_default_corpus_conforms(tmp_path: Path, bodies: BodyNesting) -> None:
    """All well-formed files with a link; each other file has its rule."""
    options = RunOptions(convert=ConvertOptions(bodies=bodies))
    records = _run(["pybullet"], tmp_path, options)

    assert len(records) == 95
    unread = {
        name: record.diagnostics[0].rule
        for name, record in records.items()
        if record.verdict is Verdict.UNREADABLE
    }
    assert unread == _NOT_READ
    for name in records.keys() - _NOT_READ:
        assert records[name].verdict.agrees, (name, records[name].reason)
