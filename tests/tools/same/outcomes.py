"""What one version makes of the robots: records, assets, exit statuses, faults."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PARTS = ("corpora", "options", "commands", "faults")

# Every joint type, couplings, both kinds of base, massless links, each mesh format.
_ROBOTS = (
    "pybullet:r2d2.urdf",
    "pybullet:kuka_iiwa/model.urdf",
    "pybullet:laikago/laikago.urdf",
    "pybullet:racecar/racecar.urdf",
    "pybullet:franka_panda/panda.urdf",
    "pybullet:cartpole.urdf",
    "pybullet:husky/husky.urdf",
    "pybullet:xarm/xarm6_with_gripper.urdf",
)
_CORPORA = ("pybullet", "erd", "suite:")
_SAMPLE = (*_ROBOTS, "erd:ur5_robot", "erd:talos_reduced", "erd:panda", "suite:")
# Of the robots above, one run with each.
_OPTIONS = {
    "usdphysics": "--profile usdphysics",
    "physx": "--profile physx",
    "ros": "--profile ros",
    "simready": "--profile simready",
    "isaac": "--profile isaac",
    "variants": "--physics-variants",
    "single": "--layout single",
    "flat": "--bodies flat --base fixed",
    "geometry": "--inertia geometry --colliders primitives --materials openpbr",
    "merged": "--merge-fixed --colliders mesh",
}
# Each runs in a folder of its own with these files, and may write to `out`.
_INPUTS = {
    "arm.urdf": "examples/arm.urdf",
    "oblique.urdf": "tests/data/urdf/oblique.urdf",
    "quaternion.urdf": "tests/data/deviations/quaternion-origin.urdf",
    "two_roots.urdf": "tests/data/deviations/two-roots.urdf",
    "punctuation.urdf": "tests/data/deviations/number-punctuation.urdf",
    "cart.usda": "tests/data/usd/flat_cart.usda",
    "nested.usda": "tests/data/usd/nested_arm.usda",
}
_COMMANDS = (
    "--version",
    "--help",
    "no-such-command",
    "doctor",
    "corpus list pybullet",
    "corpus show pybullet:r2d2.urdf",
    "convert arm.urdf out",
    "convert oblique.urdf out --layout usdz",
    "convert two_roots.urdf out",
    "convert punctuation.urdf out",
    "convert punctuation.urdf out --strict",
    "convert missing.urdf out",
    "convert pybullet:no_such.urdf out",
    "convert arm.urdf out --profile no-such-profile",
    "check arm.urdf cart.usda",
    "check arm.urdf missing.usda",
    "check arm.urdf arm.urdf",
    "export cart.usda out/cart.urdf",
    "export nested.usda out/nested.urdf",
    "export arm.urdf out/arm.urdf",
    "inspect arm.urdf",
    "inspect cart.usda",
    "inspect two_roots.urdf",
    "inspect --joints arm.urdf",
    "inspect --expand arm.urdf",
    "lint arm.urdf",
    "lint oblique.urdf quaternion.urdf",
    "lint punctuation.urdf --fix --in-place",
    "lint two_roots.urdf",
    "init arm.urdf out/arm.toml",
    "view arm.urdf --html arm.html",
    "run arm.urdf two_roots.urdf --out report",
    "run arm.urdf two_roots.urdf --out report --strict",
    "run dir:no_such_folder --out report",
)


@dataclass(frozen=True)
class Version:
    """A version of the project.

    Attributes:
        tree: Its files.
        python: Interpreter of an environment in which it is installed.
        commands: Arguments that it spells otherwise, by their current spelling.
    """

    tree: Path
    python: Path
    commands: Mapping[str, str]


def produce(
    version: Version,
    folder: Path,
    *,
    inputs: Path,
    parts: Sequence[str],
    sample: bool,
    mirror: Path | None,
) -> None:
    """Write the outcomes of a version to a folder, one subfolder per part.

    Parts of a commit that are there already are not produced again.

    Args:
        version: The version.
        folder: Folder of its outcomes.
        inputs: Checkout with the files that commands read, the same for both versions.
        parts: Those of :data:`PARTS` to produce.
        sample: Whether to take few robots.
        mirror: Folder with clones of the repositories of robot_descriptions.
    """
    producers = {
        "corpora": _run_corpora,
        "options": _run_options,
        "commands": _run_commands,
        "faults": _seed_faults,
    }
    for part in parts:
        place = folder / part
        finished = place / "finished"
        if finished.exists() and version.tree != inputs:
            continue
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        print(f"{part} of {version.tree}", flush=True)
        producers[part](version, place, inputs, sample, mirror)
        finished.touch()


def _run_corpora(version: Version, place: Path, _: Path, sample: bool, mirror: Path | None) -> None:
    corpora = _SAMPLE if sample else (*_CORPORA, *(("rd",) if mirror else ()))
    mirrored = ("--mirror", str(mirror)) if mirror and not sample else ()
    _run_robots(version, place, *corpora, *mirrored)


def _run_options(version: Version, place: Path, _: Path, sample: bool, __: Path | None) -> None:
    for name, options in _OPTIONS.items():
        folder = place / name
        folder.mkdir()
        robots = _ROBOTS[:2] if sample else _ROBOTS
        _run_robots(version, folder, *robots, *shlex.split(options))


def _run_commands(version: Version, place: Path, inputs: Path, _: bool, __: Path | None) -> None:
    for number, command in enumerate(_COMMANDS):
        folder = place / f"{number:02} {command.replace('/', '|')}"
        (folder / "out").mkdir(parents=True)
        for name, source in _INPUTS.items():
            shutil.copy(inputs / source, folder / name)
        spelled = command
        for current, former in version.commands.items():
            spelled = spelled.replace(current, former)
        if spelled.startswith("convert"):
            (folder / "out").rmdir()
        _run_cli(version, folder, *shlex.split(spelled))


def _run_robots(version: Version, folder: Path, *arguments: str) -> None:
    status = _run_cli(version, folder, "run", *arguments, "--out", "report")
    # Nothing would be compared.
    if status not in {0, 1}:
        raise SystemExit((folder / "stderr.txt").read_text(encoding="utf-8"))


def _run_cli(version: Version, folder: Path, *arguments: str) -> int:
    """Run a command in a folder, write its exit status there, and return it."""
    program = version.python.with_name("urdf-usd")
    done = subprocess.run(
        (str(program), *arguments),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    for name, text in (("stdout.txt", done.stdout), ("stderr.txt", done.stderr)):
        plain = text.replace(str(folder), ".")
        (folder / name).write_text(plain, encoding="utf-8")
    status = json.dumps({"exit_status": done.returncode})
    (folder / "status.json").write_text(status, encoding="utf-8")
    return done.returncode


def _seed_faults(version: Version, place: Path, _: Path, sample: bool, __: Path | None) -> None:
    """Write the seeded faults by id; none of a version that seeded them otherwise."""
    trials = []
    raised = {}
    if (version.tree / "tests/faults/sensitivity.py").exists():
        file = place / "trials.json"
        robots = ("oblique_arm",) if sample else ()
        options = ("--json", str(file))
        done = subprocess.run(
            (str(version.python), "-m", "tests.faults.sensitivity", *robots, *options),
            cwd=version.tree,
            capture_output=True,
            text=True,
            check=False,
        )
        if not file.exists():
            raise SystemExit(f"seeded faults of {version.tree}:\n{done.stderr}")
        document = json.loads(file.read_text(encoding="utf-8"))
        file.unlink()
        raised = dict(document["raised"])
        trials = [*document["trials"], *document["schema_trials"]]
    faults = []
    for fault in dict.fromkeys(trial["fault"] for trial in trials):
        own = [trial for trial in trials if trial["fault"] == fault]
        outcomes = Counter(trial["outcome"] for trial in own)
        faults.append(
            {
                "id": fault,
                "seeded": outcomes["caught"] + outcomes["missed"],
                "caught": outcomes["caught"],
                "equivalent": outcomes["equivalent"],
                "checks": Counter(check for trial in own for check in trial["failed"]),
                "missed": [
                    " ".join((trial["robot"], trial["subject"], trial["title"])).strip()
                    for trial in own
                    if trial["outcome"] == "missed"
                ],
            }
        )
    outcome = json.dumps({"raised": raised, "faults": faults})
    (place / "faults.json").write_text(outcome, encoding="utf-8")
