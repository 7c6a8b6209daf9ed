"""The robots of robot_descriptions: its catalogue, and the modules of robots.

Running the module of a robot clones its repository, which is announced first; the catalogue needs
none of them. With a mirror, the function that clones is replaced by one that returns a folder.
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
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
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
