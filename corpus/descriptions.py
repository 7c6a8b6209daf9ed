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

from urdf_usd.corpus.files import first_of_each, ros_packages
from urdf_usd.corpus.robots import (
    Announce,
    Candidate,
    Download,
    Origin,
    Resolved,
    RobotSource,
    Scheme,
    UnavailableError,
    UnavailableSource,
    UnknownRobotError,
    close_names,
    identifier,
)
from urdf_usd.installation import install_command

_PACKAGE = "robot_descriptions"
_EXTRA = "robot-descriptions"
# No password prompts, no connections that stall, and GitPython also without git.
_GIT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_HTTP_LOW_SPEED_LIMIT": "1000",
    "GIT_HTTP_LOW_SPEED_TIME": "60",
    "GIT_PYTHON_REFRESH": "quiet",
}
# A few modules also edit the file that they downloaded, hence the last two.
_FAILURES = (ImportError, OSError, ValueError, SyntaxError)
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# Lists the commits of the repositories of a mirror that are no checkouts.
MANIFEST = "MANIFEST.json"


def _descriptions() -> Mapping[str, Any]:
    """Return the catalogue: what is known of each module, by its name."""
    try:
        known: Mapping[str, Any] = importlib.import_module(_PACKAGE).DESCRIPTIONS
    except ModuleNotFoundError:
        hint = install_command(_EXTRA)
        raise UnavailableError(f"robot_descriptions is not installed; {hint}") from None
    return known


def _repositories() -> Mapping[str | None, Any]:
    """Return ``url``, ``commit`` and ``cache_path`` of each repository, by its name."""
    table: Mapping[str | None, Any]
    table = importlib.import_module(f"{_PACKAGE}._repositories").REPOSITORIES
    return table


def description_names() -> tuple[str, ...]:
    """List the modules that have a URDF or xacro file according to the catalogue.

    Raises:
        UnavailableError: The package is not installed.
    """
    known = _descriptions()
    return tuple(sorted(name for name in known if known[name].has_urdf))


def without_urdf(mirror: Path | None = None) -> Iterator[Candidate]:
    """Yield the modules of other formats alone, with those of their robots in URDF."""
    known = _descriptions()
    for name in sorted(known):
        if not known[name].has_urdf:
            yield offer(name, mirror)


def offer(target: str, mirror: Path | None = None) -> Candidate:
    """Return a module's entry in the catalogue; nothing is imported or downloaded.

    Args:
        target: Name of the module.
        mirror: Folder with copies of the repositories, used instead of the network,
            each under the name that robot_descriptions gives to its clone.

    Raises:
        UnknownRobotError: There is no such module.
        UnavailableError: The package is not installed.
    """
    known = _descriptions()
    if target not in known:
        hint = close_names(f"{target}_description", known)
        raise UnknownRobotError(f"robot_descriptions has no module {target!r}{hint}")
    name, reference = identifier(Scheme.DESCRIPTIONS, target), f"{Scheme.DESCRIPTIONS}:{target}"
    described = known[target]
    repository = _repositories().get(described.repository)
    origin = Origin(
        license=described.license_spdx,
        maker=described.maker,
        robot=described.robot,
        tags=tuple(sorted(described.tags)),
        repository=repository and repository.url,
        commit=repository and _commit(repository, mirror),
        distribution=f"{_PACKAGE} {metadata.version(_PACKAGE)}",
    )
    if not described.has_urdf:
        formats = ", ".join(sorted(form.name for form in described.formats))
        alike = [
            f"{Scheme.DESCRIPTIONS}:{other_name}"
            for other_name, other in sorted(known.items())
            if other.has_urdf and (other.robot, other.maker) == (described.robot, described.maker)
        ]
        reason = f"{target} has no URDF, only {formats}"
        reason += f"; {' and '.join(alike)} has one" if alike else ""
        return UnavailableSource(name, reference, reason, origin)
    cached = repository is not None and _is_here(repository, mirror)
    if mirror and repository is not None and not cached:
        reason = f"{repository.cache_path} is not in the mirror"
        return UnavailableSource(name, reference, reason, origin)
    return Download(name, reference, target, described.repository, cached, origin)


def _cache() -> Path:
    """Return the folder with the clones."""
    default = "~/.cache/robot_descriptions"
    return Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE", default)).expanduser()


def _commit(repository: Any, mirror: Path | None) -> str | None:  # noqa: ANN401  without types
    if mirror:
        return mirrored_commit(mirror, repository.cache_path)
    pinned: str = repository.commit
    return head_commit(_cache() / repository.cache_path) or pinned


def _is_here(repository: Any, mirror: Path | None) -> bool:  # noqa: ANN401  without types
    """Return whether importing a module finds its files without the network."""
    folder: Path = (mirror or _cache()) / repository.cache_path
    if mirror:
        return folder.is_dir()
    # A failed download leaves a repository without files.
    if not (folder / ".git" / "HEAD").is_file() or len(list(folder.iterdir())) == 1:
        return False
    pinned: str = repository.commit
    # A tag cannot be compared with a commit.
    return not _COMMIT.fullmatch(pinned) or head_commit(folder) == pinned


def fetch_all(
    downloads: Iterable[Download], announce: Announce, mirror: Path | None = None
) -> Iterator[Resolved]:
    """Fetch robots in order; a repository that cannot be cloned is tried only once.

    Args:
        downloads: Robots to fetch.
        announce: Called with a line before each download.
        mirror: Folder with copies of the repositories, used instead of the network.
    """
    failed: dict[str | None, str] = {}
    for download in downloads:
        try:
            if download.source in failed:
                raise _CloneError(download.module, failed[download.source])
            yield fetch(download, announce, mirror)
        except UnavailableError as error:
            if isinstance(error, _CloneError):
                failed[download.source] = error.reason
            yield UnavailableSource(download.id, download.reference, str(error), download.origin)


class _CloneError(UnavailableError):
    """A repository cannot be cloned; this affects all modules that use it."""

    def __init__(self, module: str, reason: str) -> None:
        super().__init__(f"{module} cannot be downloaded: {reason}")
        self.reason = reason


def fetch(download: Download, announce: Announce, mirror: Path | None = None) -> RobotSource:
    """Fetch one robot; the arguments are those of :func:`fetch_all`.

    Raises:
        UnavailableError: It cannot be fetched, or has neither URDF nor xacro.
    """
    name = download.module
    module = _import_description(download, announce, mirror)
    urdf: str | None = getattr(module, "URDF_PATH", None)
    path: str | None = urdf or getattr(module, "XACRO_PATH", None)
    arguments: Mapping[str, object] = {} if urdf else getattr(module, "XACRO_ARGS", {})
    if path is None:
        raise UnavailableError(f"{name} has neither URDF nor xacro")
    if not Path(path).is_file():
        folder = "mirror" if mirror else "downloaded repository"
        raise UnavailableError(f"{name}: {Path(path).name} is missing from the {folder}")
    package, repository = Path(module.PACKAGE_PATH), Path(module.REPOSITORY_PATH)
    # Further repositories with files that a xacro file includes.
    needed: Mapping[str, str] = getattr(module, "XACRO_PACKAGE_PATHS", {})
    commit = head_commit(repository) or download.origin.commit
    return RobotSource(
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


def _import_description(download: Download, announce: Announce, mirror: Path | None) -> ModuleType:
    name = download.module
    for variable, value in _GIT.items():
        os.environ.setdefault(variable, value)
    if mirror:
        try:
            with _mirrored(mirror):
                return _execute(name)
        except _FAILURES as error:
            reason = f"cannot be taken from the mirror: {_reason(error)}"
            raise UnavailableError(f"{name} {reason}") from error
    try:
        git = importlib.import_module("git")
        git.refresh()
    except ImportError:
        raise UnavailableError(f"{name} cannot be downloaded without git; install git") from None
    found = _repositories().get(download.source)
    if found is not None and not download.cached:
        announce(f"downloading {name} from {found.url}")
    try:
        with (
            contextlib.redirect_stdout(sys.stderr),
            warnings.catch_warnings(record=True, action="always") as caught,
        ):
            imported = _execute(name)
    except git.GitError as error:
        raise _CloneError(name, _reason(error)) from error
    except _FAILURES as error:
        raise UnavailableError(f"{name} cannot be downloaded: {_reason(error)}") from error
    for warning in caught:
        announce(f"{name}: {warning.message}")
    return imported


def _execute(name: str) -> ModuleType:
    """Run the module of a description; not cached, its paths depend on the mirror."""
    spec = util.find_spec(f"{_PACKAGE}.{name}")
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no module {name}")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _mirrored(mirror: Path) -> Iterator[None]:
    """Replace the function that clones repositories while the block runs."""
    table = _repositories()
    cache: Any = importlib.import_module(f"{_PACKAGE}._cache")
    original = cache.clone_to_cache

    def clone_to_cache(name: str, commit: str | None = None) -> str:
        del commit  # a mirror has one commit
        folder = mirror / table[name].cache_path
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder.name} is not in the mirror")
        return str(folder)

    cache.clone_to_cache = clone_to_cache
    try:
        yield
    finally:
        cache.clone_to_cache = original


def _reason(error: BaseException) -> str:
    """Return the reason of a failed download in one line, from git's stderr if any."""
    text = str(getattr(error, "stderr", None) or error)
    line = " ".join(text.split()).removeprefix("stderr:").strip(" '")
    return line or type(error).__name__


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
    """Return the text of a small file; empty if there is none."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
