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
from enum import Enum
from importlib import metadata, util
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from msgspec import structs

from urdf_usd.corpus.files import first_of_each, ros_packages
from urdf_usd.corpus.references import Scheme
from urdf_usd.corpus.robots import (
    Announce,
    Candidate,
    Download,
    Origin,
    Resolved,
    RobotSource,
    UnavailableError,
    UnavailableSource,
    UnknownRobotError,
    close_names,
    identifier,
)
from urdf_usd.installation import install_command

_PACKAGE = "robot_descriptions"
_EXTRA = "robot-descriptions"
_SHA1_LENGTH = 40


class Repository(Protocol):
    """A repository in robot_descriptions, which has no types."""

    url: str
    commit: str  # or tag, that is pinned
    cache_path: str  # name of its clone in the cache


class _Description(Protocol):
    repository: str | None
    has_urdf: bool
    license_spdx: str | None
    maker: str | None
    robot: str
    tags: Iterable[str]
    formats: Iterable[Enum]


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
    repository = repositories().get(described.repository)
    origin = _origin(described, repository, mirror)
    if not described.has_urdf:
        reason = f"{target} has no URDF{_instead(target, known)}"
        return UnavailableSource(name, reference, reason, origin)
    cached = repository is not None and _is_here(repository, mirror)
    if mirror and repository is not None and not cached:
        reason = f"{repository.cache_path} is not in the mirror"
        return UnavailableSource(name, reference, reason, origin)
    return Download(name, reference, target, described.repository, cached, origin)


def repositories() -> Mapping[str | None, Repository]:
    """Map the name of every repository to its address, commit and cache folder."""
    module = importlib.import_module(f"{_PACKAGE}._repositories")
    table: Mapping[str | None, Repository] = module.REPOSITORIES
    return table


def _instead(target: str, known: Mapping[str, _Description]) -> str:
    """Return the formats of a module, and the modules with a URDF of its robot."""
    described = known[target]
    formats = ", ".join(sorted(form.name for form in described.formats))
    alike = [
        f"{Scheme.DESCRIPTIONS}:{name}"
        for name, other in sorted(known.items())
        if other.has_urdf and (other.robot, other.maker) == (described.robot, described.maker)
    ]
    return f", only {formats}" + (f"; {' and '.join(alike)} has one" if alike else "")


def _descriptions() -> Mapping[str, _Description]:
    try:
        package = importlib.import_module(_PACKAGE)
    except ModuleNotFoundError:
        raise UnavailableError(
            f"robot_descriptions is not installed; {install_command(_EXTRA)}"
        ) from None
    known: Mapping[str, _Description] = package.DESCRIPTIONS
    return known


def _origin(described: _Description, repository: Repository | None, mirror: Path | None) -> Origin:
    commit = None
    if repository is not None:
        commit = (
            mirrored_commit(mirror, repository.cache_path)
            if mirror
            else head_commit(cache() / repository.cache_path) or repository.commit
        )
    return Origin(
        license=described.license_spdx,
        maker=described.maker,
        robot=described.robot,
        tags=tuple(sorted(described.tags)),
        repository=None if repository is None else repository.url,
        commit=commit,
        distribution=f"{_PACKAGE} {metadata.version(_PACKAGE)}",
    )


def cache() -> Path:
    """Return the folder with the clones."""
    default = "~/.cache/robot_descriptions"
    return Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE", default)).expanduser()


def _is_here(repository: Repository, mirror: Path | None) -> bool:
    """Return whether importing a module finds its files without the network."""
    folder = (mirror or cache()) / repository.cache_path
    if mirror:
        return folder.is_dir()
    head = folder / ".git" / "HEAD"
    # A failed download leaves a repository without files.
    if not head.is_file() or all(path.name == ".git" for path in folder.iterdir()):
        return False
    pinned = repository.commit
    # A tag cannot be compared with a commit.
    by_tag = len(pinned) != _SHA1_LENGTH
    return by_tag or head_commit(folder) == pinned


# No password prompts, and no connections that stall.
_GIT_TIMEOUTS = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_HTTP_LOW_SPEED_LIMIT": "1000",
    "GIT_HTTP_LOW_SPEED_TIME": "60",
}
# A few modules also edit the file that they downloaded, hence the last two.
_FAILURES = (ImportError, OSError, ValueError, SyntaxError)


class _CloneError(UnavailableError):
    """A repository cannot be cloned; this affects all modules that use it."""

    def __init__(self, module: str, reason: str) -> None:
        super().__init__(f"{module} cannot be downloaded: {reason}")
        self.reason = reason


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
    commit = head_commit(Path(module.REPOSITORY_PATH))
    return RobotSource(
        id=download.id,
        reference=download.reference,
        path=Path(path),
        packages=_packages(module),
        arguments=tuple((name, str(value)) for name, value in arguments.items()),
        origin=structs.replace(download.origin, commit=commit or download.origin.commit),
        mirrored=mirror is not None,
    )


def _import_description(download: Download, announce: Announce, mirror: Path | None) -> ModuleType:
    name = download.module
    if mirror:
        try:
            with _mirrored(mirror):
                return _execute(name)
        except _FAILURES as error:
            raise UnavailableError(
                f"{name} cannot be taken from the mirror: {_reason(error)}"
            ) from error
    # GitPython cannot be imported without a git executable.
    try:
        git = importlib.import_module("git")
    except ImportError:
        raise UnavailableError(f"{name} cannot be downloaded without git; install git") from None
    found = repositories().get(download.source)
    if found is not None and not download.cached:
        announce(f"downloading {name} from {found.url}")
    try:
        with (
            contextlib.redirect_stdout(sys.stderr),
            warnings.catch_warnings(record=True, action="always") as caught,
            _default_environment(_GIT_TIMEOUTS),
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
    spec = util.find_spec(f"robot_descriptions.{name}")
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no module {name}")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _mirrored(mirror: Path) -> Iterator[None]:
    """Replace the function that clones repositories while the block runs."""
    table = repositories()
    with _default_environment({"GIT_PYTHON_REFRESH": "quiet"}):
        cache: Any = importlib.import_module("robot_descriptions._cache")
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


@contextlib.contextmanager
def _default_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables that are not set while the block runs."""
    added = [name for name in variables if name not in os.environ]
    os.environ.update({name: variables[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _reason(error: BaseException) -> str:
    """Return the reason of a failed download in one line, from git's stderr if any."""
    text = str(getattr(error, "stderr", None) or error)
    line = " ".join(text.split()).removeprefix("stderr:").strip(" '")
    return line or type(error).__name__


def _packages(module: ModuleType) -> tuple[tuple[str, Path], ...]:
    package = Path(module.PACKAGE_PATH)
    repository = Path(module.REPOSITORY_PATH)
    # Further repositories with files that a xacro file includes.
    needed: Mapping[str, str] = getattr(module, "XACRO_PACKAGE_PATHS", {})
    return first_of_each(
        *((name, Path(path)) for name, path in needed.items()),
        (package.name, package),
        (repository.name, repository),
        *ros_packages(repository),
    )


_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# Lists the commits of the repositories of a mirror that are no checkouts.
MANIFEST = "MANIFEST.json"


def head_commit(folder: Path) -> str | None:
    """Return the commit that is checked out in a folder; None if it is no checkout."""
    git = folder / ".git"
    if git.is_file():
        # In a worktree or a submodule, the file holds the path of the repository.
        place = _text(git).removeprefix("gitdir:").strip()
        git = folder / place
    head = _text(git / "HEAD")
    name = head.removeprefix("ref:").strip()
    if name == head:
        return _commit(head)
    # A worktree shares the branches of its repository.
    shared = git / (_text(git / "commondir") or ".")
    loose = (_commit(_text(place / name)) for place in (git, shared))
    return next(filter(None, loose), None) or _packed(shared, name)


def mirrored_commit(mirror: Path, name: str) -> str | None:
    """Return the commit of one repository of a mirror.

    Read from the checkout; for other folders from ``MANIFEST.json``, which maps the
    folder's name to an object with its ``commit``.
    """
    commit = head_commit(mirror / name)
    if commit is not None:
        return commit
    try:
        return _commit(str(json.loads(_text(mirror / MANIFEST))[name]["commit"]))
    except (KeyError, TypeError, ValueError):
        return None


def _packed(git: Path, name: str) -> str | None:
    lines: Iterable[list[str]] = map(str.split, _text(git / "packed-refs").splitlines())
    return next((_commit(line[0]) for line in lines if line[1:] == [name]), None)


def _commit(text: str) -> str | None:
    return text if _COMMIT.fullmatch(text) else None


def _text(file: Path) -> str:
    """Text of a small file; empty if there is none."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
