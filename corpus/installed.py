"""Robots of installed distributions: pybullet_data, example-robot-data, robot_descriptions; suite.

Running the module of a robot of robot_descriptions clones its repository, which is announced first;
its catalogue needs none of them. With a mirror, the function that clones is replaced by one that
returns a folder.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import runpy
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import structs

from urdf_usd.corpus import files
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
    with contextlib.suppress(metadata.PackageNotFoundError):
        listed = [
            file
            for file in metadata.files(DISTRIBUTION) or ()
            if "robots" in file.parts and file.suffix == _URDF
        ]
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


# robot_descriptions

_PACKAGE = "robot_descriptions"
# No password prompts, no connections that stall, and GitPython also without git.
_GIT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_HTTP_LOW_SPEED_LIMIT": "1000",
    "GIT_HTTP_LOW_SPEED_TIME": "60",
    "GIT_PYTHON_REFRESH": "quiet",
}
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# Lists the commits of the repositories of a mirror that are no checkouts.
MANIFEST = "MANIFEST.json"


def _catalogue() -> Any:  # noqa: ANN401  # without types
    try:
        return importlib.import_module(_PACKAGE).DESCRIPTIONS
    except ModuleNotFoundError:
        hint = install_command("robot-descriptions")
        raise r.UnavailableError(f"robot_descriptions is not installed; {hint}") from None


def _repositories() -> Any:  # noqa: ANN401  # likewise
    """Return ``url``, ``commit`` and ``cache_path`` of each repository, by its name."""
    return importlib.import_module(f"{_PACKAGE}._repositories").REPOSITORIES


def description_names() -> tuple[str, ...]:
    return tuple(sorted(_catalogue()))


def offer(target: str, mirror: Path | None = None, *, mjcf: bool = True) -> r.Candidate:
    """Return a module's entry in the catalogue; nothing is run or downloaded."""
    known = _catalogue()
    if target not in known:
        hint = r.close_names(f"{target}_description", known)
        raise r.UnknownRobotError(f"robot_descriptions has no module {target!r}{hint}")
    named = r.identifier("rd", target), f"rd:{target}"
    described = known[target]
    repository = _repositories().get(described.repository)
    commit, cached = _checkout(repository, mirror) if repository else (None, False)
    origin = r.Origin(
        license=described.license_spdx,
        maker=described.maker,
        robot=described.robot,
        tags=tuple(sorted(described.tags)),
        repository=repository and repository.url,
        commit=commit,
        distribution=f"{_PACKAGE} {metadata.version(_PACKAGE)}",
    )
    if not (described.has_urdf or (mjcf and described.has_mjcf)):
        alike = [
            f"rd:{name}"
            for name, other in sorted(known.items())
            if other.has_urdf and (other.robot, other.maker) == (described.robot, described.maker)
        ]
        formats = ", ".join(sorted(form.name for form in described.formats))
        has_one = f"; {' and '.join(alike)} has one" if alike else ""
        reason = f"{target} has no URDF, only {formats}{has_one}"
    elif mirror and repository and not cached:
        reason = f"{repository.cache_path} is not in the mirror"
    else:
        return r.Download(*named, target, described.repository, cached, origin)
    return r.UnavailableSource(*named, reason, origin)


def _checkout(repository: Any, mirror: Path | None) -> tuple[str | None, bool]:  # noqa: ANN401  without types
    """Return the commit of a repository's files, and whether they are on this machine."""
    if mirror:
        name = repository.cache_path
        return mirrored_commit(mirror, name), (mirror / name).is_dir()
    cache = os.environ.get("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions")
    folder = Path(cache).expanduser() / repository.cache_path
    pinned, head = repository.commit, head_commit(folder)
    # A failed download leaves a repository without files. A tag is no commit.
    is_there = (folder / ".git" / "HEAD").is_file() and len(list(folder.iterdir())) > 1
    return head or pinned, is_there and (not _COMMIT.fullmatch(pinned) or head == pinned)


def fetch_all(
    downloads: Iterable[r.Download], announce: r.Announce, mirror: Path | None = None
) -> Iterator[r.Resolved]:
    """Fetch robots in order; a repository that cannot be cloned is tried only once."""
    failed: dict[str | None, str] = {}
    for one in downloads:
        try:
            if one.source in failed:
                raise r.UnavailableError(_not_taken(one, None, failed[one.source]))
            yield fetch(one, announce, mirror)
        except r.UnavailableError as error:
            # The reason that git has concerns all modules that use the repository.
            if mirror is None and hasattr(error.__cause__, "stderr"):
                failed[one.source] = _reason(error.__cause__ or error)
            yield r.UnavailableSource(one.id, one.reference, str(error), one.origin)


def fetch(download: r.Download, announce: r.Announce, mirror: Path | None = None) -> r.RobotSource:
    module = _run_module(download, announce, mirror)
    urdf = module.get("URDF_PATH")
    path = urdf or module.get("XACRO_PATH") or module.get("MJCF_PATH")
    if path is None or not Path(path).is_file():
        file = Path(path).name if path else "a URDF, xacro or MJCF"
        folder = "mirror" if mirror else "downloaded repository"
        raise r.UnavailableError(f"{download.module}: {file} is missing from the {folder}")
    arguments = {} if urdf else module.get("XACRO_ARGS", {})
    package, repository = Path(module["PACKAGE_PATH"]), Path(module["REPOSITORY_PATH"])
    # Further repositories with files that a xacro file includes.
    needed = module.get("XACRO_PACKAGE_PATHS", {})
    commit = head_commit(repository) or download.origin.commit
    return r.RobotSource(
        id=download.id,
        reference=download.reference,
        path=Path(path),
        packages=files.first_of_each(
            *((name, Path(path)) for name, path in needed.items()),
            (package.name, package),
            (repository.name, repository),
            *files.ros_packages(repository),
        ),
        arguments=tuple((name, str(value)) for name, value in arguments.items()),
        origin=structs.replace(download.origin, commit=commit),
        mirrored=mirror is not None,
    )


def _run_module(download: r.Download, announce: r.Announce, mirror: Path | None) -> dict[str, Any]:
    """Return the names that the module of a robot defines; it clones its repository."""
    for variable, value in _GIT.items():
        os.environ.setdefault(variable, value)
    git = importlib.import_module("git")
    table = _repositories()
    if not mirror and not download.cached and download.source in table:
        announce(f"downloading {download.module} from {table[download.source].url}")

    def find_in_mirror(repository: str, commit: str | None = None) -> str:
        del commit  # a mirror has one commit
        folder = (mirror or Path()) / table[repository].cache_path
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder.name} is not in the mirror")
        return str(folder)

    cache: Any = importlib.import_module(f"{_PACKAGE}._cache")
    original = cache.clone_to_cache
    cache.clone_to_cache = find_in_mirror if mirror else original
    try:
        with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings(action="ignore"):
            # Not cached by Python: the paths of the module depend on the mirror.
            return runpy.run_module(f"{_PACKAGE}.{download.module}")
    # A few modules also edit the file that they downloaded, hence the last two.
    except (git.GitError, ImportError, OSError, ValueError, SyntaxError) as error:
        raise r.UnavailableError(_not_taken(download, mirror, _reason(error))) from error
    finally:
        cache.clone_to_cache = original


def _not_taken(download: r.Download, mirror: Path | None, reason: str) -> str:
    verb = "taken from the mirror" if mirror else "downloaded"
    return f"{download.module} cannot be {verb}: {reason}"


def _reason(error: BaseException) -> str:
    text = " ".join(str(getattr(error, "stderr", None) or error).split())
    return text.removeprefix("stderr:").strip(" '") or type(error).__name__


def head_commit(folder: Path) -> str | None:
    """Return the commit that is checked out in a folder; None if it is no checkout."""
    git = folder / ".git"
    head = _text(git / "HEAD").removeprefix("ref:").strip()
    packed = re.findall(rf"^(\w+) {re.escape(head)}$", _text(git / "packed-refs"), re.MULTILINE)
    return next(filter(_COMMIT.fullmatch, (head, _text(git / head), *packed)), None)


def mirrored_commit(mirror: Path, name: str) -> str | None:
    """Return the commit of a repository of a mirror: of the checkout, else from its manifest."""
    try:
        stated = str(json.loads(_text(mirror / MANIFEST))[name]["commit"])
    except (KeyError, TypeError, ValueError):
        stated = ""
    return head_commit(mirror / name) or (stated if _COMMIT.fullmatch(stated) else None)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
