"""Robots of installed distributions: pybullet_data, example-robot-data, the feature suite."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any

from urdf_usd.corpus import robots as r
from urdf_usd.installation import distribution_of, install_command

_URDF = ".urdf"
DISTRIBUTION = "example-robot-data"
SUITE = Path(__file__).parent / "suite"
# Folder of the cases in MJCF, which other converters read.
MJCF_CHAPTER = "mjcf"
SUITE_MANIFEST = "manifest.json"


def pybullet_names() -> tuple[str, ...]:
    """List all URDFs of the wheel except a thousand generated objects, in path order."""
    root = _pybullet_root()
    paths = (path.relative_to(root) for path in root.rglob(f"*{_URDF}"))
    return tuple(sorted(path.as_posix() for path in paths if "random_urdfs" not in path.parts))


def locate_pybullet(target: str) -> r.RobotSource:
    relative = PurePosixPath(target)
    path = _pybullet_root() / relative
    inside = not relative.is_absolute() and ".." not in relative.parts
    if not (inside and relative.suffix == _URDF and path.is_file()):
        hint = r.close_names(target, pybullet_names(), cutoff=0.5)
        raise r.UnknownRobotError(f"pybullet_data has no URDF {target!r}{hint}")
    name = relative.as_posix()
    found = distribution_of("pybullet")
    return r.RobotSource(
        id=r.identifier(r.Scheme.PYBULLET, name),
        reference=f"{r.Scheme.PYBULLET}:{name}",
        path=path,
        # No licence: the wheel's is that of the engine.
        origin=r.Origin(distribution=" ".join(found) if found else None),
    )


def _pybullet_root() -> Path:
    try:
        import pybullet_data
    except ModuleNotFoundError:
        raise r.UnavailableError("pybullet is not installed; pip install pybullet") from None
    return Path(pybullet_data.getDataPath())


def example_names() -> tuple[str, ...]:
    """List all robots: the stem of each file, with the package if stems are equal."""
    return tuple(sorted(_examples(tuple(sys.path))[1]))


def locate_example(target: str) -> r.RobotSource:
    robots, known = _examples(tuple(sys.path))
    if target not in known:
        qualified = [name for name in sorted(known) if name.endswith(f"/{target}")]
        if qualified:
            names = " or ".join(f"{r.Scheme.EXAMPLES}:{name}" for name in qualified)
            raise r.UnknownRobotError(f"{target!r} names several robots; write {names}")
        hint = r.close_names(target, sorted(known))
        raise r.UnknownRobotError(f"{DISTRIBUTION} has no robot {target!r}{hint}")
    folders = sorted(path for path in robots.iterdir() if path.is_dir())
    described = metadata.metadata(DISTRIBUTION)
    folder = next(folder for folder in folders if folder in known[target].parents)
    # A folder with its own licence file has another licence than the wheel, not known here.
    own = any(path.name.upper().startswith(("LICENSE", "COPYING")) for path in folder.iterdir())
    urls = dict(url.split(", ", 1) for url in described.get_all("Project-URL") or () if ", " in url)
    return r.RobotSource(
        id=r.identifier(r.Scheme.EXAMPLES, target),
        reference=f"{r.Scheme.EXAMPLES}:{target}",
        path=known[target],
        # URIs start with package://example-robot-data/robots/, or with a folder there.
        packages=((DISTRIBUTION, robots.parent), *((path.name, path) for path in folders)),
        origin=r.Origin(
            license=None if own else (described.get_all("License-Expression") or [None])[0],
            repository=urls.get("Upstream"),
            distribution=f"{DISTRIBUTION} {metadata.version(DISTRIBUTION)}",
        ),
    )


@lru_cache(maxsize=1)
def _examples(_: tuple[str, ...]) -> tuple[Path, Mapping[str, Path]]:
    listed: list[metadata.PackagePath] = []
    with suppress(metadata.PackageNotFoundError):
        files = metadata.files(DISTRIBUTION) or ()
        listed = [file for file in files if "robots" in file.parts and file.suffix == _URDF]
    if not listed:
        hint = install_command("example-robot-data")
        raise r.UnavailableError(f"{DISTRIBUTION} is not installed; {hint}")
    depth = len(listed[0].parts) - listed[0].parts.index("robots")
    robots = Path(str(listed[0].locate())).resolve().parents[depth - 2]
    paths = sorted(robots.rglob(f"*{_URDF}"))
    stems = Counter(path.stem for path in paths)
    folders = {path: f"{path.relative_to(robots).parts[0]}/" for path in paths}
    return robots, {
        f"{folders[path] if stems[path.stem] > 1 else ''}{path.stem}": path for path in paths
    }


def suite_versions() -> tuple[str, ...]:
    """List the versions of the suite, oldest first."""
    return tuple(sorted(file.parent.name for file in SUITE.glob(f"*/{SUITE_MANIFEST}")))


def suite_manifest(version: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((SUITE / version / SUITE_MANIFEST).read_text("utf-8"))
    return content


def case_names(version: str = "") -> tuple[str, ...]:
    """List the cases of a version, the latest by default, as ``<chapter>/<case>``, by chapter."""
    version = version or suite_versions()[-1]
    return tuple(
        f"{chapter['name']}/{file.stem}"
        for chapter in suite_manifest(version)["chapters"]
        for file in sorted((SUITE / version / chapter["name"]).glob("*.json"))
    )


def locate_cases(target: str) -> tuple[r.RobotSource, ...]:
    """Find the cases of ``<version>``, ``<chapter>`` or ``<chapter>/<case>``.

    The last two also after ``<version>/``. The chapter of MJCF belongs to no version.
    """
    stated, chapter, case = r.suite_parts(target)
    version = stated or suite_versions()[-1]
    if version not in suite_versions():
        there = f"there are {', '.join(suite_versions())}"
        raise r.UnknownRobotError(f"the feature suite has no version {version!r}; {there}")
    if chapter == MJCF_CHAPTER and stated is None:
        version, prefix, suffix, titles = MJCF_CHAPTER, "", ".xml", {MJCF_CHAPTER: "MJCF"}
        cases = [f"{MJCF_CHAPTER}/{file.stem}" for file in sorted((SUITE / version).glob("*.json"))]
    else:
        prefix, suffix, cases = f"{version}/", _URDF, list(case_names(version))
        titles = {one["name"]: one["title"] for one in suite_manifest(version)["chapters"]}
    wanted = f"{chapter}/{case}" if case else chapter
    found = []
    for number, name in enumerate(cases, 1):
        if not wanted or name == wanted or name.startswith(f"{wanted}/"):
            own_chapter, _, own = name.partition("/")
            file = SUITE / prefix / name
            text = file.with_name(f"{own}.json").read_text("utf-8")
            robot = r.RobotSource(
                id=r.identifier(r.Scheme.SUITE, f"{prefix}{name}"),
                reference=f"{r.Scheme.SUITE}:{prefix}{name}",
                path=file.with_name(f"{own}{suffix}"),
                # Name in package:// URIs of the folder of a version.
                packages=(("suite", SUITE / version),) if prefix else (),
                origin=r.Origin(license="Apache-2.0"),
                case=r.SuiteCase(version, own_chapter, titles[own_chapter], own, number, text),
            )
            found.append(robot)
    if not found:
        hint = r.close_names(wanted, sorted({*cases, *titles}))
        raise r.UnknownRobotError(f"the feature suite has no case {wanted!r}{hint}")
    return tuple(found)
