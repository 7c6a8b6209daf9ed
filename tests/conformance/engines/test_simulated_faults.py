"""Faults of a USD that a simulator computes, each in the check that has to detect it.

They are seeded into an asset without differences. Simulators that are not installed are
skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pxr import Sdf, Usd

from tests.conformance.engines.optional_engines import installed
from urdf_usd.conformance.checks.catalogue import CHECKS
from urdf_usd.conformance.checks.check import Compared, compare
from urdf_usd.conformance.descriptions import questions
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.engines.reference import ReferenceEngine
from urdf_usd.conformance.tolerance import Tolerance, derive_tolerance_model
from urdf_usd.conformance.verdict.attribution import compare_simulator
from urdf_usd.converter import convert
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.reports.records.record import Grade

_INERTIAL = """<inertial><origin xyz="0.05 -0.1 -0.2" rpy="0.1 0.2 0.3"/>
  <mass value="1.5"/><inertia ixx="0.02" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.003"
  izz="0.025"/></inertial>"""
_URDF = f"""<robot name="faulty">
  <link name="base">{_INERTIAL}</link><link name="arm">{_INERTIAL}</link>
  <link name="finger">{_INERTIAL}</link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/>
    <origin xyz="0.1 0.2 0.3" rpy="0.3 -0.2 0.1"/><axis xyz="0.48 0.6 0.64"/>
    <limit lower="-1.2" upper="1.1" effort="3" velocity="0.5"/>
    <dynamics damping="0.3" friction="0.2"/></joint>
  <joint name="grip" type="revolute"><parent link="arm"/><child link="finger"/>
    <origin xyz="0.2 0.1 -0.3" rpy="-0.4 0.2 0.6"/><axis xyz="0.6 0 0.8"/>
    <limit lower="-2" upper="2" effort="3" velocity="0.5"/>
    <mimic joint="shoulder" multiplier="-0.5" offset="0.1"/></joint></robot>"""
_SHOULDER, _GRIP = "/faulty/Physics/shoulder", "/faulty/Physics/grip"
_FLOAT = Sdf.ValueTypeNames.Float


def _sets(path: str, name: str, value: float, schema: str = "") -> Callable[[Usd.Stage], None]:
    """Return a fault that sets an attribute, and perhaps applies a schema."""

    def seed(stage: Usd.Stage) -> None:
        prim = stage.GetPrimAtPath(path)
        assert prim
        if schema:
            prim.AddAppliedSchema(schema)
        prim.CreateAttribute(name, _FLOAT, custom=False).Set(value)

    return seed


def _uncouples(stage: Usd.Stage) -> None:
    prim = stage.GetPrimAtPath(_GRIP)
    prim.CreateAttribute("newton:mimicEnabled", Sdf.ValueTypeNames.Bool).Set(False)


@dataclass(frozen=True)
class _Fault:
    """A fault, and the checks that detect it with each simulator."""

    seed: Callable[[Usd.Stage], None]
    physx: frozenset[str] = frozenset()
    newton: frozenset[str] = frozenset()


_FAULTS = {
    "damping": _Fault(
        _sets(_SHOULDER, "newton:damping", 0.05),
        frozenset({"dynamics.damping"}),
        frozenset({"dynamics.damping"}),
    ),
    "friction": _Fault(
        _sets(_SHOULDER, "newton:friction", 0.4),
        frozenset({"dynamics.friction"}),
        frozenset({"dynamics.friction"}),
    ),
    "multiplier": _Fault(
        _sets(_GRIP, "newton:mimicCoef1", -0.49),
        frozenset({"structure.mimic"}),
        frozenset({"structure.mimic"}),
    ),
    "offset": _Fault(
        _sets(_GRIP, "newton:mimicCoef0", 6.0),
        frozenset({"structure.mimic"}),
        frozenset({"structure.mimic"}),
    ),
    "no coupling": _Fault(
        _uncouples, frozenset({"structure.mimic"}), frozenset({"structure.mimic"})
    ),
    "armature": _Fault(
        _sets(_SHOULDER, "newton:armature", 0.05), newton=frozenset({"dynamics.inertia_matrix"})
    ),
}
_COMPARED = frozenset(
    {
        "structure.mimic",
        "dynamics.damping",
        "dynamics.friction",
        "dynamics.inertia_matrix",
        "dynamics.bias",
    }
)


def _failing(engine: str, fault: Callable[[Usd.Stage], None] | None, folder: Path) -> set[str]:
    """Return the checks in which a simulator differs from the URDF."""
    simulator = installed(engine)
    path = folder / "faulty.urdf"
    path.write_text(_URDF, encoding="utf-8")
    sampled = questions(parse(path).robot)
    spec = ReferenceEngine().observe(Request(str(path), sampled))
    usd = convert(path, folder / "usd").root_layer
    if fault is not None:
        stage = Usd.Stage.Open(str(usd))
        fault(stage)
        stage.GetRootLayer().Save()
    seen = simulator.observe(Request(str(usd), sampled))
    model = derive_tolerance_model(spec, Tolerance())
    failing = set()
    for check in CHECKS:
        if check.id in _COMPARED and check.quantity in seen.states:
            found = compare(check, spec, seen, model)
            assert isinstance(found, Compared)
            assert found.differences
            counted = compare_simulator(check, spec, spec, seen, model)[1]
            if any(one.grade is Grade.FAILS for one in counted.differences):
                failing.add(check.id)
    return failing


@pytest.mark.parametrize("engine", ["physx", "newton-usd"])
def test_asset_without_fault_is_right(engine: str, tmp_path: Path) -> None:
    assert not _failing(engine, None, tmp_path)


@pytest.mark.parametrize("name", [name for name, one in _FAULTS.items() if one.physx])
def test_fault_is_detected_by_physx(name: str, tmp_path: Path) -> None:
    fault = _FAULTS[name]

    assert _failing("physx", fault.seed, tmp_path) == fault.physx


@pytest.mark.parametrize("name", [name for name, one in _FAULTS.items() if one.newton])
def test_fault_is_detected_by_newton(name: str, tmp_path: Path) -> None:
    fault = _FAULTS[name]

    assert _failing("newton-usd", fault.seed, tmp_path) == fault.newton
