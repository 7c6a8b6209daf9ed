"""Profiles conform by the same checks, and are recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.conformance.direct import examine_here
from tests.faults.fault import ROBOTS
from urdf_usd.cli.main import main
from urdf_usd.conformance.execution.run import run
from urdf_usd.conformance.options import RunOptions
from urdf_usd.converter import ConvertOptions, Profile
from urdf_usd.corpus import resolve_corpora
from urdf_usd.reports.records.record import RobotRecord, Verdict

# Oblique axes, chained couplings, couplings between kinds, a massless base.
ARM = ROBOTS / "oblique_arm.urdf"


def _invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(("profile", "count"), [("generic", 4), ("simready", 8), ("isaac", 3)])
def test_every_variant_conforms(tmp_path: Path, profile: str, count: int) -> None:
    options = ("--profile", profile, "--physics-variants")
    omissions = {"Physics": "physics", "Colliders": "colliders"}
    if profile == "isaac":
        del omissions["Colliders"]
    if profile == "simready":
        del omissions["Physics"]
    result = _invoke("convert", str(ARM), str(tmp_path), *options)
    usd = result.stdout.strip()

    result = _invoke("check", str(ARM), usd, "--all-variants")

    lines = result.stdout.splitlines()
    assert result.exit_code == 0, result.output
    assert sum(line.startswith(("✓", "≈")) for line in lines) == count
    assert [line.split() for line in lines if "skipped" in line] == [
        ["·", "skipped", f"/oblique_arm:{name}=none", "no", kind]
        for name, kind in omissions.items()
    ]


@pytest.mark.corpus
@pytest.mark.parametrize("profile", [one for one in Profile if one is not Profile.GENERIC])
def test_conforming_robots_conform_in_every_profile(tmp_path: Path, profile: Profile) -> None:
    options = RunOptions(convert=ConvertOptions(profile=profile))
    records: list[RobotRecord] = []
    run(resolve_corpora(["pybullet"]), tmp_path, options, progress=records.append)
    read = [r for r in records if r.verdict is not Verdict.UNREADABLE]

    assert len(read) > 80
    assert [(r.id, r.reason) for r in read if not r.verdict.agrees] == []


@pytest.mark.parametrize(
    ("profile", "verdict"),
    [(Profile.GENERIC, Verdict.EXACT), (Profile.SIMREADY, Verdict.CLOSE)],
)
def test_normals_against_the_faces_may_be_replaced(
    tmp_path: Path, profile: Profile, verdict: Verdict
) -> None:
    points = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 1 1 1\nvn 0 0 1\n"
    inwards = "f 1//2 3//2 2//2\nf 1//1 2//1 4//1\nf 1//1 4//1 3//1\n"
    (tmp_path / "corner.obj").write_text(points + inwards)
    urdf = tmp_path / "r.urdf"
    urdf.write_text(
        '<robot name="r"><link name="a"><visual><geometry>'
        '<mesh filename="corner.obj"/></geometry></visual></link></robot>'
    )

    record = examine_here(urdf, tmp_path / "run", ConvertOptions(profile=profile))

    assert record.verdict is verdict, record.reason
    (check,) = (each for each in record.checks if each.id == "visual.normals")
    assert check.grade.value == verdict.value
