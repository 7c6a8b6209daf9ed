"""What one version makes of the robots: records, assets, exit statuses, faults."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

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


class Version(NamedTuple):
    """A version of the project, and what both versions share."""

    tree: Path
    python: Path  # of an environment in which it is installed
    commands: Mapping[str, str]  # arguments that it spells otherwise, by their current spelling
    inputs: Path  # checkout with the files that commands read
    sample: bool  # of few robots
    mirror: Path | None  # clones of the repositories of robot_descriptions


def produce(version: Version, folder: Path, parts: Sequence[str]) -> None:
    """Write the outcomes of a version to a folder, one subfolder per part.

    Parts of a commit that are there already are not produced again.
    """
    for part in parts:
        place = folder / part
        finished = place / "finished"
        if finished.exists() and version.tree != version.inputs:
            continue
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        print(f"{part} of {version.tree}", flush=True)
        PRODUCERS[part](version, place)
        finished.touch()


def _run_corpora(version: Version, place: Path) -> None:
    mirrored = ("rd", "--mirror", str(version.mirror)) if version.mirror else ()
    _run_robots(version, place, *(_SAMPLE if version.sample else (*_CORPORA, *mirrored)))


def _run_options(version: Version, place: Path) -> None:
    for name, options in _OPTIONS.items():
        robots = _ROBOTS[:2] if version.sample else _ROBOTS
        (place / name).mkdir()
        _run_robots(version, place / name, *robots, *shlex.split(options))


def _run_commands(version: Version, place: Path) -> None:
    for number, command in enumerate(_COMMANDS):
        folder = place / f"{number:02} {command.replace('/', '|')}"
        folder.mkdir()
        for name, source in _INPUTS.items():
            shutil.copy(version.inputs / source, folder / name)
        for current, former in version.commands.items():
            command = command.replace(current, former)
        if not command.startswith("convert"):
            (folder / "out").mkdir()
        _run_cli(version, folder, *shlex.split(command))


def _run_robots(version: Version, folder: Path, *arguments: str) -> None:
    status = _run_cli(version, folder, "run", *arguments, "--out", "report")
    # Nothing would be compared.
    if status not in {0, 1}:
        raise SystemExit((folder / "stderr.txt").read_text(encoding="utf-8"))


def _run_cli(version: Version, folder: Path, *arguments: str) -> int:
    """Run a command in a folder, write its exit status there, and return it."""
    done = subprocess.run(
        (str(version.python.with_name("urdf-usd")), *arguments),
        cwd=folder,
        env=os.environ | {"PYTHONPATH": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    for name, text in (("stdout.txt", done.stdout), ("stderr.txt", done.stderr)):
        (folder / name).write_text(text.replace(str(folder), "."), encoding="utf-8")
    status = json.dumps({"exit_status": done.returncode})
    (folder / "status.json").write_text(status, encoding="utf-8")
    return done.returncode


def _seed_faults(version: Version, place: Path) -> None:
    """Write the seeded faults by id."""
    file = place / "trials.json"
    robots = ("oblique_arm",) if version.sample else ()
    command = (str(version.python), "-m", "tests.faults.sensitivity", *robots, "--json", str(file))
    done = subprocess.run(command, cwd=version.tree, capture_output=True, text=True, check=False)
    if not file.exists():
        raise SystemExit(f"seeded faults of {version.tree}:\n{done.stderr}")
    document = json.loads(file.read_text(encoding="utf-8"))
    file.unlink()
    trials = [*document["trials"], *document["schema_trials"]]
    faults = []
    for fault in dict.fromkeys(trial["fault"] for trial in trials):
        own = [trial for trial in trials if trial["fault"] == fault]
        outcomes = Counter(trial["outcome"] for trial in own)
        missed = [trial for trial in own if trial["outcome"] == "missed"]
        faults.append(
            {
                "id": fault,
                "seeded": outcomes["caught"] + outcomes["missed"],
                "caught": outcomes["caught"],
                "equivalent": outcomes["equivalent"],
                "checks": Counter(check for trial in own for check in trial["failed"]),
                "missed": [
                    " ".join((one["robot"], one["subject"], one["title"])).strip() for one in missed
                ],
            }
        )
    outcome = json.dumps({"raised": document["raised"], "faults": faults})
    (place / "faults.json").write_text(outcome, encoding="utf-8")


PRODUCERS: dict[str, Callable[[Version, Path], None]] = {
    "corpora": _run_corpora,
    "options": _run_options,
    "commands": _run_commands,
    "faults": _seed_faults,
}
