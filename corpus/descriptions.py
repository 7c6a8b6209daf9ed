"""The robots of robot_descriptions: its catalogue, and the modules of robots.

Importing the module of a robot clones its repository, which is announced first; the
catalogue needs no import of them. Output of git and of a module goes to stderr; stdout
is for the result of the command. With a mirror, the function that clones is replaced by
one that returns a folder, and no git executable is needed.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata, util
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import structs

from urdf_usd.corpus import robots as r
from urdf_usd.corpus.files import first_of_each, ros_packages
from urdf_usd.installation import install_command

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


def _catalogue() -> Mapping[str, Any]:
    try:
        known: Mapping[str, Any] = importlib.import_module(_PACKAGE).DESCRIPTIONS
    except ModuleNotFoundError:
        hint = install_command("robot-descriptions")
        raise r.UnavailableError(f"robot_descriptions is not installed; {hint}") from None
    return known


def _repositories() -> Mapping[str | None, Any]:
    """Return ``url``, ``commit`` and ``cache_path`` of each repository, by its name."""
    table: Mapping[str | None, Any]
    table = importlib.import_module(f"{_PACKAGE}._repositories").REPOSITORIES
    return table


def description_names(*, urdf: bool = True) -> tuple[str, ...]:
    """List the modules that have a URDF or xacro file according to the catalogue, or the others.

    Raises:
        UnavailableError: The package is not installed.
    """
    known = _catalogue()
    return tuple(sorted(name for name in known if known[name].has_urdf is urdf))


def offer(target: str, mirror: Path | None = None, *, mjcf: bool = True) -> r.Candidate:
    """Return a module's entry in the catalogue; nothing is imported or downloaded.

    Raises:
        UnknownRobotError: There is no such module.
        UnavailableError: The package is not installed.
    """
    known = _catalogue()
    if target not in known:
        hint = r.close_names(f"{target}_description", known)
        raise r.UnknownRobotError(f"robot_descriptions has no module {target!r}{hint}")
    name, reference = (
        r.identifier(r.Scheme.DESCRIPTIONS, target),
        f"{r.Scheme.DESCRIPTIONS}:{target}",
    )
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
    if described.has_urdf or (mjcf and described.has_mjcf):
        if not mirror or not repository or cached:
            return r.Download(name, reference, target, described.repository, cached, origin)
        reason = f"{repository.cache_path} is not in the mirror"
    else:
        formats = ", ".join(sorted(form.name for form in described.formats))
        alike = [
            f"{r.Scheme.DESCRIPTIONS}:{other_name}"
            for other_name, other in sorted(known.items())
            if other.has_urdf and (other.robot, other.maker) == (described.robot, described.maker)
        ]
        has_one = f"; {' and '.join(alike)} has one" if alike else ""
        reason = f"{target} has no URDF, only {formats}{has_one}"
    return r.UnavailableSource(name, reference, reason, origin)


def _checkout(repository: Any, mirror: Path | None) -> tuple[str | None, bool]:  # noqa: ANN401  without types
    """Return the commit of a repository's files, and whether they are on this machine."""
    if mirror:
        name = repository.cache_path
        return mirrored_commit(mirror, name), (mirror / name).is_dir()
    cache = os.environ.get("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions")
    folder = Path(cache).expanduser() / repository.cache_path
    pinned, head = repository.commit, head_commit(folder)
    # A failed download leaves a repository without files.
    is_there = (folder / ".git" / "HEAD").is_file() and len(list(folder.iterdir())) > 1
    # A tag cannot be compared with a commit.
    return head or pinned, is_there and (not _COMMIT.fullmatch(pinned) or head == pinned)


def fetch_all(
    downloads: Iterable[r.Download], announce: r.Announce, mirror: Path | None = None
) -> Iterator[r.Resolved]:
    """Fetch robots in order; a repository that cannot be cloned is tried only once."""
    failed: dict[str | None, str] = {}
    for one in downloads:
        try:
            if one.source in failed:
                raise r.UnavailableError(_not_cloned(one.module, failed[one.source]))
            yield fetch(one, announce, mirror)
        except r.UnavailableError as error:
            # The reason that git has concerns all modules that use the repository.
            if mirror is None and hasattr(error.__cause__, "stderr"):
                failed[one.source] = _reason(error.__cause__ or error)
            yield r.UnavailableSource(one.id, one.reference, str(error), one.origin)


def fetch(download: r.Download, announce: r.Announce, mirror: Path | None = None) -> r.RobotSource:
    name = download.module
    module = _import_description(download, announce, mirror)
    urdf: str | None = getattr(module, "URDF_PATH", None)
    xacro = urdf or getattr(module, "XACRO_PATH", None)
    path: str | None = xacro or getattr(module, "MJCF_PATH", None)
    arguments: Mapping[str, object] = {} if urdf else getattr(module, "XACRO_ARGS", {})
    if path is None:
        raise r.UnavailableError(f"{name} has neither URDF, xacro nor MJCF")
    if not Path(path).is_file():
        folder = "mirror" if mirror else "downloaded repository"
        raise r.UnavailableError(f"{name}: {Path(path).name} is missing from the {folder}")
    package, repository = Path(module.PACKAGE_PATH), Path(module.REPOSITORY_PATH)
    # Further repositories with files that a xacro file includes.
    needed: Mapping[str, str] = getattr(module, "XACRO_PACKAGE_PATHS", {})
    commit = head_commit(repository) or download.origin.commit
    return r.RobotSource(
        id=download.id,
        reference=download.reference,
        path=Path(path),
        packages=first_of_each(
            *((name, Path(path)) for name, path in needed.items()),
            (package.name, package),
            (repository.name, repository),
            *ros_packages(repository),
        ),
        arguments=tuple((name, str(value)) for name, value in arguments.items()),
        origin=structs.replace(download.origin, commit=commit),
        mirrored=mirror is not None,
    )


def _import_description(
    download: r.Download, announce: r.Announce, mirror: Path | None
) -> ModuleType:
    name, table = download.module, _repositories()
    for variable, value in _GIT.items():
        os.environ.setdefault(variable, value)
    git: Any = importlib.import_module("git")
    if mirror is None:
        try:
            git.refresh()
        except ImportError:
            reason = "cannot be downloaded without git; install git"
            raise r.UnavailableError(f"{name} {reason}") from None
        found = table.get(download.source)
        if found is not None and not download.cached:
            announce(f"downloading {name} from {found.url}")

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
        with (
            contextlib.redirect_stdout(sys.stderr),
            warnings.catch_warnings(record=True, action="always") as caught,
        ):
            # Not cached by Python: the paths of the module depend on the mirror.
            spec = util.find_spec(f"{_PACKAGE}.{name}")
            if spec is None or spec.loader is None:
                raise ImportError(f"there is no module {name}")
            module = util.module_from_spec(spec)
            spec.loader.exec_module(module)
    # A few modules also edit the file that they downloaded, hence the last two.
    except (git.GitError, ImportError, OSError, ValueError, SyntaxError) as error:
        reason = _reason(error)
        text = f"{name} cannot be taken from the mirror: {reason}"
        raise r.UnavailableError(text if mirror else _not_cloned(name, reason)) from error
    finally:
        cache.clone_to_cache = original
    for warning in () if mirror else caught:
        announce(f"{name}: {warning.message}")
    return module


def _not_cloned(module: str, reason: str) -> str:
    return f"{module} cannot be downloaded: {reason}"


def _reason(error: BaseException) -> str:
    text = " ".join(str(getattr(error, "stderr", None) or error).split())
    return text.removeprefix("stderr:").strip(" '") or type(error).__name__


def head_commit(folder: Path) -> str | None:
    """Return the commit that is checked out in a folder; None if it is no checkout."""
    git = folder / ".git"
    head = _text(git / "HEAD").removeprefix("ref:").strip()
    packed = (line.split() for line in _text(git / "packed-refs").splitlines())
    of_refs = (line[0] for line in packed if line[1:] == [head])
    candidates = (head, _text(git / head), *of_refs)
    return next(filter(_COMMIT.fullmatch, candidates), None)


def mirrored_commit(mirror: Path, name: str) -> str | None:
    """Return the commit of one repository of a mirror.

    Read from the checkout; for other folders from ``MANIFEST.json``, which maps the
    folder's name to an object with its ``commit``.
    """
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
