"""The modules of the robot_descriptions package.

Importing the module of a description clones its repository, which is announced first.
Output of git and of the module goes to stderr; stdout is for the result of the command.
With a mirror, the function that clones is replaced by one that returns a folder, and
no git executable is needed.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import structs

from urdf_usd.corpus.checkouts import head_commit
from urdf_usd.corpus.packages import first_of_each, ros_packages
from urdf_usd.corpus.robots import (
    Announce,
    Download,
    Resolved,
    RobotSource,
    UnavailableError,
    UnavailableSource,
)
from urdf_usd.corpus.sources.description_catalogue import repositories

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
    path, arguments = _file_and_arguments(module)
    if path is None:
        raise UnavailableError(f"{name} has neither URDF nor xacro")
    if not Path(path).is_file():
        place = "mirror" if mirror else "downloaded repository"
        raise UnavailableError(f"{name}: {Path(path).name} is missing from the {place}")
    commit = head_commit(Path(module.REPOSITORY_PATH))
    return RobotSource(
        id=download.id,
        reference=download.reference,
        path=Path(path),
        packages=_packages(module),
        arguments=arguments,
        origin=structs.replace(download.origin, commit=commit or download.origin.commit),
        mirrored=mirror is not None,
    )


def _file_and_arguments(
    module: ModuleType,
) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """Return the URDF of a module, or its xacro file and xacro arguments."""
    urdf: str | None = getattr(module, "URDF_PATH", None)
    if urdf is not None:
        return urdf, ()
    xacro: str | None = getattr(module, "XACRO_PATH", None)
    arguments: Mapping[str, str] = getattr(module, "XACRO_ARGS", {})
    return xacro, tuple((name, str(value)) for name, value in arguments.items())


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
