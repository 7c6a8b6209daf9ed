"""Run two versions over the same robots, and print what differs.

COMMIT and the checkout each run in an environment of their own: whole corpora, a sample of robots
with every profile and layout, and the seeded faults. Then asset files, verdicts, grades, numbers of
compared values, rule ids, exit statuses and caught faults are compared; of a USD layer that
differs, the opinions. ``names.toml`` lists what was renamed since COMMIT. Outcomes of COMMIT are
kept for the next comparison. Exits with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from pxr import Sdf

# Every joint type, couplings, both kinds of base, massless links, each mesh format.
_ROBOTS = (
    *("pybullet:r2d2.urdf", "pybullet:kuka_iiwa/model.urdf", "pybullet:laikago/laikago.urdf"),
    *("pybullet:racecar/racecar.urdf", "pybullet:franka_panda/panda.urdf"),
    *("pybullet:cartpole.urdf", "pybullet:husky/husky.urdf"),
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
# Kind of messages and values as text, which do not count.
TEXT = "text"
# Values that count, by the names that lead to them, `*` for any; others are text.
_COUNTED = (
    *("exit_status", "verdict", "checks * grade", "checks * compared"),
    *("diagnostics * rule", "lint * rule", "engines * status"),
    *(
        "deviations * id",
        "deviations * check",
        "raised * *",
        "*trials * outcome",
        "*trials * failed *",
    ),
)
# What names the items of lists: by it they are compared, not by their order.
_KEYS = ("id", "name", "engine", "path", "rule", "fault", "title", "robot", "subject")
# Different wherever the environment or the folder is.
_IGNORED = frozenset({"environment", "fingerprint", "sha256", "size"})
_LAYERS = frozenset({".usda", ".usdc", ".usd"})
# Printed of one layer, and of one value.
_MOST_OPINIONS = 8
_MOST_CHARACTERS = 200


class Version(NamedTuple):
    """A version of the project, and the robots of both."""

    tree: Path
    python: Path  # of an environment in which it is installed
    sample: bool  # of few robots
    mirror: Path | None  # clones of the repositories of robot_descriptions


class Difference(NamedTuple):
    kind: str  # heading under which it is printed
    subject: str  # robot or list of faults
    detail: str  # what differs, former and current value


# Outcomes of a version.


def _run_corpora(version: Version, folder: Path) -> None:
    mirrored = ("rd", "--mirror", str(version.mirror)) if version.mirror else ()
    _run(version, folder, *(_SAMPLE if version.sample else (*_CORPORA, *mirrored)))


def _run_options(version: Version, folder: Path) -> None:
    for name, options in _OPTIONS.items():
        robots = _ROBOTS[:2] if version.sample else _ROBOTS
        (folder / name).mkdir()
        _run(version, folder / name, *robots, *shlex.split(options))


def _run(version: Version, folder: Path, *arguments: str) -> None:
    command = (str(version.python.with_name("urdf-usd")), "run", *arguments, "--out", "report")
    isolated = os.environ | {"PYTHONPATH": ""}
    done = subprocess.run(command, cwd=folder, env=isolated, capture_output=True, text=True)
    # Nothing would be compared.
    if done.returncode not in {0, 1}:
        raise SystemExit(done.stderr)
    (folder / "status.json").write_text(json.dumps({"exit_status": done.returncode}))


def _seed_faults(version: Version, folder: Path) -> None:
    file, robots = folder / "faults.json", ("oblique_arm",) if version.sample else ()
    command = (str(version.python), "-m", "tests.faults.sensitivity", *robots, "--json", str(file))
    done = subprocess.run(command, cwd=version.tree, capture_output=True, text=True)
    if not file.exists():
        raise SystemExit(f"seeded faults of {version.tree}:\n{done.stderr}")


PARTS: dict[str, Callable[[Version, Path], None]] = {
    "corpora": _run_corpora,
    "options": _run_options,
    "faults": _seed_faults,
}


# Their comparison.


def differences(
    former: Path, current: Path, names: Mapping[str, str], parts: Iterable[str]
) -> Iterator[Difference]:
    """Compare two folders of outcomes, part by part."""
    for part in parts:
        before, after = _files(former / part), _files(current / part)
        for path in sorted(before.keys() | after.keys()):
            found = [("files", f"only {'now' if path in after else 'formerly'}")]
            if path in before and path in after:
                found = list(_compare(before[path], after[path], names))
            yield from (Difference(kind, f"{part}: {path}", detail) for kind, detail in found)


def _files(folder: Path) -> dict[str, Path]:
    """Return the files to compare by path, without pages, which are made from records."""
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*")}
    compared = ("status.json", "faults.json", "report/results/*", "report/assets/*")
    return {
        path: file
        for path, file in files.items()
        if file.is_file() and any(fnmatch(f"/{path}", f"*/{one}") for one in compared)
    }


def _compare(old: Path, new: Path, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield kinds of differences, and what differs: values, opinions of layers, or bytes."""
    before, after = old.read_bytes(), new.read_bytes()
    if old.suffix == ".json":
        given = (before, names), (after, dict[str, str]())
        values = [dict(_leaves(json.loads(text), (), known)) for text, known in given]
        yield from ((_kind(way), detail) for way, detail in _changes(*values))
    elif before != after:
        opinions = map(_opinions, (old, new)) if old.suffix in _LAYERS else ({}, {})
        changed = [detail for _, detail in _changes(*opinions)] or ["other bytes"]
        if (more := len(changed) - _MOST_OPINIONS) > 0:
            changed[_MOST_OPINIONS:] = [f"{more} more opinions"]
        yield from (("files", detail) for detail in changed)


def _changes(
    before: Mapping[tuple[str, ...], object], after: Mapping[tuple[str, ...], object]
) -> Iterator[tuple[tuple[str, ...], str]]:
    for way in dict.fromkeys((*before, *after)):
        if before.get(way) != after.get(way):
            texts = [repr(one[way]) if way in one else "absent" for one in (before, after)]
            was, now = (text[:_MOST_CHARACTERS] for text in texts)
            yield way, f"{' '.join(way)}: {was} -> {now}"


def _leaves(
    value: Any,  # noqa: ANN401  JSON
    way: tuple[str, ...],
    names: Mapping[str, str],
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Return the values without parts, renamed, each by the names that lead to it."""
    match value:
        case dict():
            for key, item in value.items():
                if key not in _IGNORED:
                    yield from _leaves(item, (*way, names.get(key, key)), names)
        case list():
            seen: Counter[str] = Counter()
            for item in value:
                given = item if isinstance(item, dict) else {}
                words = [str(given[key]) for key in _KEYS if given.get(key)]
                name = " ".join(names.get(word, word) for word in words)
                seen[name] += 1
                again = f" {seen[name]}" if seen[name] > 1 else ""
                yield from _leaves(item, (*way, name + again), names)
        case _:
            yield way, names.get(value, value) if isinstance(value, str) else value


def _kind(way: tuple[str, ...]) -> str:
    """Return the pattern of a value that counts, which is its heading."""
    for pattern in _COUNTED:
        parts = pattern.split()
        if len(parts) == len(way) and all(map(fnmatch, way, parts)):
            return pattern
    return TEXT


def _opinions(file: Path) -> dict[tuple[str, ...], object]:
    """Return all fields of a layer as text, by path and name of the field."""
    layer = Sdf.Layer.FindOrOpen(str(file))
    opinions: dict[tuple[str, ...], object] = {}

    def collect(path: Sdf.Path) -> None:
        spec = layer.GetObjectAtPath(path)
        # Targets and connections have paths and no specs; their lists are fields.
        for field in spec.ListInfoKeys() if spec else ():
            opinions[str(path), field] = str(spec.GetInfo(field))

    layer.Traverse(Sdf.Path.absoluteRootPath, collect)
    return opinions


def printed(found: Sequence[Difference], *, texts: bool) -> Iterator[str]:
    """Return the lines that list differences by kind, the same details together."""
    for kind in dict.fromkeys(difference.kind for difference in found):
        subjects: dict[str, list[str]] = {}
        for difference in found:
            if difference.kind == kind:
                subjects.setdefault(difference.detail, []).append(difference.subject)
        yield f"\n{kind}: {sum(map(len, subjects.values()))}"
        if kind == TEXT and not texts:
            yield "  messages and numbers as text; --texts lists them"
            continue
        for detail, places in sorted(subjects.items(), key=lambda item: -len(item[1])):
            more = f" (+{len(places) - 1} more)" if len(places) > 1 else ""
            yield f"  {places[0]}{more}: {detail}"
    counted = sum(difference.kind != TEXT for difference in found)
    yield f"\n{counted or 'no'} differences"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", help="revision to compare the checkout with")
    parser.add_argument("--former", type=Path, required=True, help="its worktree")
    parser.add_argument("--former-python", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder of outcomes")
    parser.add_argument("--sample", action="store_true", help="few robots, about five minutes")
    parser.add_argument("--mirror", type=Path, default=os.environ.get("URDF_USD_MIRROR"))
    parser.add_argument("--only", action="append", choices=PARTS, help="a part; repeatable")
    parser.add_argument("--texts", action="store_true", help="also messages, and values as text")
    options = parser.parse_args()
    names = tomllib.loads(Path(__file__).with_name("names.toml").read_text(encoding="utf-8"))
    parts = options.only or list(PARTS)
    size = "sample" if options.sample else "whole"
    command = ("git", "-C", str(options.former), "rev-parse", "HEAD")
    revision = subprocess.check_output(command, text=True).strip()
    # By revision: outcomes of another commit are of no further use.
    kept, now = options.work / f"{revision}-{size}", options.work / f"checkout-{size}"
    for folder in options.work.glob(f"*-{size}"):
        if folder != kept:
            shutil.rmtree(folder)
    shared = options.sample, options.mirror and options.mirror.resolve()
    former = Version(options.former, options.former_python, *shared)
    for version, outcomes in (
        (former, kept),
        (Version(Path.cwd(), Path(sys.executable), *shared), now),
    ):
        for part in parts:
            folder = outcomes / part
            if not (folder / "finished").exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                print(f"{part} of {version.tree}", flush=True)
                PARTS[part](version, folder)
                (folder / "finished").touch()
    found = list(differences(kept, now, names, parts))
    print("\n".join(printed(found, texts=options.texts)))
    return int(any(difference.kind != TEXT for difference in found))


if __name__ == "__main__":
    sys.exit(main())
