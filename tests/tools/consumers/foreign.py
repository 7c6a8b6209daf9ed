"""Export of USDs that others ship: what came out, and its degrees of freedom.

Exports every USD below the folders, by default those in the packages ovphysx and newton, and writes
a table: exit status, the reason of a refusal, degrees of freedom of the joints by PhysX in the USD
and by MuJoCo in the URDF. Of a stage with several robots, the first is exported with ``--root``.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import mujoco

from tests.tools.corpora import table
from urdf_usd.conformance.engines.process import Simulator
from urdf_usd.conformance.export.assets import export
from urdf_usd.converter import ConversionError

_PACKAGES = {"ovphysx": "samples/data", "newton": ""}
_SEVERAL = re.compile(r"holds (\d+) robots; .* --root PATH: (\S+) ")
_EMPTY = "no rigid body and no link"
# Bounds that let MuJoCo compile links without mass; shapes are removed.
_BOUNDS = {"balanceinertia": "true", "boundmass": "1e-9", "boundinertia": "1e-12"}
_COMPILER = _BOUNDS | {"fusestatic": "false"}
# Why numbers differ, by file.
_AT_WORLD = (
    "PhysX takes a body that a moving joint connects to the world for a fixed root, so "
    "that this joint is no degree of freedom"
)
_CAUSES = {
    "newton/tests/assets/cartpole_mjc.usda": _AT_WORLD,
    "newton/tests/assets/site_actuator_mjc.usda": _AT_WORLD,
    "newton/tests/assets/pendulum_revolute_vs_d6.usda": "no PhysicsLimitAPI locks the "
    "axes of the D6 joint, which is free in all six; PhysX keeps the three rotations",
}
_PAGE = Path(__file__).parents[3] / "docs/dev/foreign_usd.md"


class Outcome(NamedTuple):
    """What became of one file."""

    name: str  # package and path inside it
    exit: int  # status of the command without ``--root``
    robots: int = 1
    joints: int | None = None  # of the URDF that are not fixed; None without a URDF
    physx: int | None = None  # degrees of freedom
    mujoco: int | None = None  # likewise
    notes: tuple[str, ...] = ()

    @property
    def differs(self) -> bool | None:
        return None if None in {self.physx, self.mujoco} else self.physx != self.mujoco


def outcome(name: str, usd: Path, folder: Path, physx: Simulator | None) -> Outcome:
    """Export a file into an empty folder, and load the USD and the URDF."""
    root, robots, code = None, 1, 0
    notes: list[str] = []
    while True:
        try:
            urdf = export(usd, folder / "robot.urdf", loops=True, root=root).urdf
            break
        except ConversionError as error:
            first = next(one for one in error.diagnostics if one.severity == "error")
            reason = re.sub(r" in /\S+/site-packages/", " in ", " ".join(first.message.split()))
            several = _SEVERAL.search(reason)
            if several is None or root:
                return Outcome(name, 2, robots, notes=(*notes, reason))
            code, robots, root = 2, int(several[1]), several[2].removesuffix(",")
            notes.append(f"`--root {root}`")
    robot = ET.parse(urdf).getroot()
    joints = sum(joint.get("type", "fixed") != "fixed" for joint in robot.iter("joint"))
    if loops := len(robot.findall("usd_loop")):
        notes.append("1 joint closes a loop" if loops == 1 else f"{loops} joints close loops")
    for parent in (robot, *robot.iter("link")):
        for part in [one for one in parent if one.tag in {"visual", "collision", "mujoco"}]:
            parent.remove(part)
    ET.SubElement(ET.SubElement(robot, "mujoco"), "compiler", _COMPILER)
    freedoms = measured = None
    try:
        freedoms = mujoco.MjModel.from_xml_string(ET.tostring(robot, encoding="unicode")).nv
    except ValueError as error:
        notes.append(f"MuJoCo: {' '.join(str(error).split())}")
    if physx:
        # Of the articulations at, above or below the prim that is exported.
        counts: dict[str, int] = physx.observe({"usd": str(usd)}).get("dofs_of", {})
        inside = f"{root}/" if root else ""
        paths = [path for path in counts if f"{path}/".startswith(inside)]
        paths += [path for path in counts if root and f"{root}/".startswith(f"{path}/")]
        measured = sum(counts[path] for path in set(paths)) if paths else None
    found = Outcome(name, code, robots, joints, measured, freedoms, tuple(notes))
    causes = [_CAUSES[name]] if found.differs and name in _CAUSES else []
    return found._replace(notes=(*notes, *causes))


def page(outcomes: list[Outcome]) -> str:
    """Return the introduction, the counts, and the files of which there is something to say."""
    introduction, _, _ = _PAGE.read_text(encoding="utf-8").partition("\nOf ")
    rows = []
    robots = [one for one in outcomes if not any(_EMPTY in note for note in one.notes)]
    for one in robots:
        if one.notes or one.differs or one.joints is None:
            numbers = (one.joints, one.physx, one.mujoco)
            cells = ["-" if number is None else number for number in numbers]
            note = "; ".join(one.notes).replace("|", "\\|")
            rows.append((f"`{one.name}`", one.exit, one.robots, *cells, note))
    empty = Counter(one.name.partition("/")[0] for one in outcomes if one not in robots)
    counts = ", ".join(f"{count} of {name}" for name, count in empty.items())
    return (
        f"{introduction}\nOf {len(outcomes)} files, {empty.total()} have no rigid body "
        f"({counts}). Of the other {len(robots)}, "
        f"{sum(one.joints is not None for one in robots)} were exported. PhysX and MuJoCo report "
        f"degrees of freedom of {sum(one.differs is not None for one in outcomes)}; "
        f"{sum(bool(one.differs) for one in outcomes)} differ.\n\n"
        + "\n".join(table(("file", "exit", "robots", "joints", "PhysX", "MuJoCo", "notes"), rows))
        + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--out", type=Path, help="file to write; printed otherwise")
    options = parser.parse_args()
    folders = {one.name: one for one in options.folders}
    for package, inside in () if folders else _PACKAGES.items():
        if (spec := find_spec(package)) and spec.origin:
            folders[package] = Path(spec.origin).parent / inside
    outcomes = []
    with Simulator("PhysX", "tests.tools.consumers.physx_program") as simulator:
        physx = simulator if find_spec("ovphysx") else None
        for name, below in folders.items():
            for usd in sorted(below.rglob("*.usd*")):
                with tempfile.TemporaryDirectory() as folder:
                    place = f"{name}/{usd.relative_to(below)}"
                    outcomes.append(outcome(place, usd, Path(folder), physx))
                sys.stderr.write(f"{outcomes[-1]}\n")
    (options.out.write_text if options.out else sys.stdout.write)(page(outcomes))


if __name__ == "__main__":
    main()
