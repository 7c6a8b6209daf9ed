"""Export of USDs that others ship: what came out, and its degrees of freedom.

python -m tests.tools.consumers.foreign [FOLDER…] [--out FILE]

Exports every USD below the folders, by default those in the packages ovphysx and
newton, and writes a table: exit status, the reason of a refusal, degrees of freedom of
the joints by PhysX in the USD and by MuJoCo in the URDF. Of a stage with several
robots, the first that the message lists is exported with ``--root``.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree as ET

import mujoco

from urdf_usd.conformance.engines.process import Simulator
from urdf_usd.conformance.export.files import export
from urdf_usd.converter import ConversionError

_PACKAGES = {"ovphysx": "samples/data", "newton": ""}
_SUFFIXES = {".usd", ".usda", ".usdc", ".usdz"}
_SEVERAL = re.compile(r"holds (\d+) robots; .* --root PATH: (\S+) ")
# Bounds that let MuJoCo compile links without mass; shapes are removed.
_COMPILER = {
    "balanceinertia": "true",
    "boundmass": "1e-9",
    "boundinertia": "1e-12",
    "fusestatic": "false",
}
_SHAPES = ("visual", "collision")
_NOTHING = "no rigid body and no link"
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
_INTRODUCTION = """\
# Export of the USDs of PhysX and Newton

`nox -s foreign` exports every USD that the packages ovphysx and newton contain, and
writes this page; the table has those that differ, that are not exported, or of which a
joint closes a loop. *Robots*: those of the stage; of several, the first was exported with
`--root` after the exit status 2 of a call without. *PhysX* and *MuJoCo*: degrees of
freedom of the joints, without the six of a floating base, by PhysX in the USD and by
MuJoCo in the exported URDF. A dash: nothing on the stage is an articulation for PhysX,
which reports no degrees of freedom of free bodies and of joints without an articulation
root; or nothing was exported. Joints that close loops are exported with `--loops`.

"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file."""

    name: str  # package and path inside it
    exit: int  # status of the command without ``--root``
    robots: int = 1
    root: str | None = None  # of several, the one that was exported with ``--root``
    joints: int | None = None  # of the URDF that are not fixed; None without a URDF
    physx: int | None = None  # degrees of freedom
    mujoco: int | None = None  # likewise
    note: str = ""  # reason of a refusal, or what a simulator reports

    @property
    def differs(self) -> bool:
        return None not in {self.physx, self.mujoco} and self.physx != self.mujoco


def outcome(name: str, usd: Path, folder: Path, physx: Simulator | None) -> Outcome:
    """Export a file into an empty folder, and load the USD and the URDF."""
    root, robots, code = None, 1, 0
    while True:
        try:
            written = export(usd, folder / "robot.urdf", loops=True, root=root)
            break
        except ConversionError as error:
            code, reason = 2, _reason(error)
            several = _SEVERAL.search(reason)
            if several is None or root:
                return Outcome(name, code, robots, root, note=reason)
            robots, root = int(several[1]), several[2].removesuffix(",")
    document = ET.parse(written.urdf)
    joints = sum(joint.get("type", "fixed") != "fixed" for joint in document.iter("joint"))
    found, note = _by_mujoco(written.urdf)
    measured = _by_physx(usd, root, physx) if physx else None
    if loops := len(document.findall("usd_loop")):
        closing = "joint closes a loop" if loops == 1 else "joints close loops"
        note = "; ".join(filter(None, (f"{loops} {closing}", note)))
    return Outcome(name, code, robots, root, joints, measured, found, note)


def _reason(error: ConversionError) -> str:
    """Return the first error, in one line without the path of the file."""
    first = next(one for one in error.diagnostics if one.severity == "error")
    text = " ".join(first.message.split())
    return re.sub(r" in /\S+/site-packages/", " in ", text)


def _by_mujoco(urdf: Path) -> tuple[int | None, str]:
    """Return the degrees of freedom of the joints, or an error."""
    tree = ET.parse(urdf)
    robot = tree.getroot()
    for link in robot.iter("link"):
        for shape in [one for one in link if one.tag in _SHAPES]:
            link.remove(shape)
    for extension in robot.findall("mujoco"):
        robot.remove(extension)
    ET.SubElement(ET.SubElement(robot, "mujoco"), "compiler", _COMPILER)
    try:
        model = mujoco.MjModel.from_xml_string(ET.tostring(robot, encoding="unicode"))
    except ValueError as error:
        return None, f"MuJoCo: {' '.join(str(error).split())}"
    return int(model.nv), ""


def _by_physx(usd: Path, root: str | None, physx: Simulator) -> int | None:
    """Return the degrees of freedom of an articulation; None if there is no such one.

    Of several, that whose path is at, above or below the given prim.
    """
    answer = physx.observe({"usd": str(usd)})
    found: dict[str, int] = answer.get("dofs_of", {})
    if root is not None:
        found = {
            path: count
            for path, count in found.items()
            if f"{path}/".startswith(f"{root}/") or f"{root}/".startswith(f"{path}/")
        }
    return sum(found.values()) if found else None


def files(folders: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    """Yield the name and path of every USD below named folders, in order."""
    for name, folder in folders.items():
        for path in sorted(folder.rglob("*")):
            if path.suffix in _SUFFIXES and path.is_file():
                yield f"{name}/{path.relative_to(folder)}", path


def package_folders() -> dict[str, Path]:
    """Return the folders of USDs of the packages that are installed."""
    found = {}
    for package, inside in _PACKAGES.items():
        spec = find_spec(package)
        if spec and spec.origin:
            found[package] = Path(spec.origin).parent / inside
    return found


def page(outcomes: Sequence[Outcome]) -> str:
    """Return the counts, and a table of the files of which there is something to say."""
    empty = [one for one in outcomes if _NOTHING in one.note]
    shown = [one for one in outcomes if one not in empty]
    rows = [
        "| file | exit | robots | joints | PhysX | MuJoCo | |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in shown:
        if not (one.note or one.differs or one.joints is None):
            continue
        numbers = (one.joints, one.physx, one.mujoco)
        cells = ["-" if number is None else str(number) for number in numbers]
        root = f"`--root {one.root}`" if one.root else ""
        cause = _CAUSES.get(one.name, "") if one.differs else ""
        note = "; ".join(filter(None, (root, one.note.replace("|", "\\|"), cause)))
        cells = [f"`{one.name}`", str(one.exit), str(one.robots), *cells, note]
        rows.append(f"| {' | '.join(cells)} |")
    exported = sum(one.joints is not None for one in shown)
    compared = [one for one in shown if None not in {one.physx, one.mujoco}]
    differing = sum(one.differs for one in compared)
    origins = Counter(one.name.partition("/")[0] for one in empty)
    counts = ", ".join(f"{count} of {name}" for name, count in origins.items())
    return (
        f"{_INTRODUCTION}Of {len(outcomes)} files, {len(empty)} have no rigid body "
        f"({counts}). Of the other {len(shown)}, {exported} were exported. PhysX and "
        f"MuJoCo report degrees of freedom of {len(compared)}; {differing} differ.\n\n"
        + "\n".join(rows)
        + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--out", type=Path, help="file to write; printed otherwise")
    arguments = parser.parse_args()
    folders = {one.name: one for one in arguments.folders} or package_folders()
    outcomes = []
    with Simulator("PhysX", "tests.tools.consumers.physx_program") as simulator:
        physx = simulator if find_spec("ovphysx") else None
        for name, usd in files(folders):
            with tempfile.TemporaryDirectory() as folder:
                outcomes.append(outcome(name, usd, Path(folder), physx))
            sys.stderr.write(f"{outcomes[-1]}\n")
    text = page(outcomes)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
