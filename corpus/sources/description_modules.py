"""The modules of the robot_descriptions package.

Importing a description's module clones its repository, so it is announced first. What
git or the module prints goes to stderr: stdout belongs to the command's result. With a
mirror, the function that clones is replaced by one that looks into a folder; git need
not be installed then.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import warnings
from dataclasses import replace
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_CACHE = "robot_descriptions._cache"
# A prompt for a password would wait for ever, and so would a connection that stalls.
_PATIENCE = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_HTTP_LOW_SPEED_LIMIT": "1000",
    "GIT_HTTP_LOW_SPEED_TIME": "60",
}
# A few modules also patch the file they downloaded, hence the last two.
_FAILURES = (ImportError, OSError, ValueError, SyntaxError)


class _NoCloneError(UnavailableError):
    """A repository cannot be cloned, whichever module asks for it."""

    def __init__(self, module: str, reason: str) -> None:
        super().__init__(f"{module} cannot be downloaded: {reason}")
        self.reason = reason


def fetch_all(
    downloads: Iterable[Download], announce: Announce, mirror: Path | None = None
) -> Iterator[Resolved]:
    """Fetch robots, in their order; each repository that fails is tried once.

    Args:
        downloads: What is to be fetched.
        announce: Receives a line before each download.
        mirror: Folder that holds repositories in place of the network.
    """
    failed: dict[str | None, str] = {}
    for download in downloads:
        try:
            if download.source in failed:
                raise _NoCloneError(download.module, failed[download.source])
            yield fetch(download, announce, mirror)
        except UnavailableError as error:
            if isinstance(error, _NoCloneError):
                failed[download.source] = error.reason
            yield UnavailableSource(
                download.id, download.reference, str(error), download.origin
            )


def fetch(
    download: Download, announce: Announce, mirror: Path | None = None
) -> RobotSource:
    """Fetch one robot; the arguments are those of :func:`fetch_all`.

    Raises:
        UnavailableError: It cannot be had, or has neither URDF nor xacro.
    """
    name = download.module
    module = _import_description(download, announce, mirror)
    path, arguments = _description(module)
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
        origin=replace(download.origin, commit=commit or download.origin.commit),
        mirrored=mirror is not None,
    )


def _description(
    module: ModuleType,
) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """Find the file of a module: URDF, or xacro with the arguments that it needs."""
    urdf: str | None = getattr(module, "URDF_PATH", None)
    if urdf is not None:
        return urdf, ()
    xacro: str | None = getattr(module, "XACRO_PATH", None)
    arguments: Mapping[str, str] = getattr(module, "XACRO_ARGS", {})
    return xacro, tuple((name, str(value)) for name, value in arguments.items())


def _import_description(
    download: Download, announce: Announce, mirror: Path | None
) -> ModuleType:
    name = download.module
    if mirror:
        with _mirrored(mirror):
            try:
                return _execute(name)
            except _FAILURES as error:
                raise UnavailableError(
                    f"{name} cannot be taken from the mirror: {_reason(error)}"
                ) from error
    # GitPython refuses to be imported where there is no git.
    try:
        git = importlib.import_module("git")
    except ImportError:
        raise UnavailableError(
            f"{name} cannot be downloaded without git; install git"
        ) from None
    found = repositories().get(download.source)
    if found is not None and not download.cached:
        announce(f"downloading {name} from {found.url}")
    try:
        with (
            contextlib.redirect_stdout(sys.stderr),
            warnings.catch_warnings(record=True, action="always") as heard,
            _patient_git(),
        ):
            imported = _execute(name)
    except git.GitError as error:
        raise _NoCloneError(name, _reason(error)) from error
    except _FAILURES as error:
        raise UnavailableError(
            f"{name} cannot be downloaded: {_reason(error)}"
        ) from error
    for warning in heard:
        announce(f"{name}: {warning.message}")
    return imported


def _execute(name: str) -> ModuleType:
    """Run a description's module without keeping it: its paths depend on the cache."""
    spec = util.find_spec(f"robot_descriptions.{name}")
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no module {name}")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _mirrored(mirror: Path) -> Iterator[None]:
    """Let modules find their repositories in a folder while the block runs."""
    stand_in = ModuleType(_CACHE)
    table = repositories()

    def clone_to_cache(name: str, commit: str | None = None) -> str:
        del commit  # a mirror is at one commit
        folder = mirror / table[name].cache_path
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder.name} is not in the mirror")
        return str(folder)

    vars(stand_in)["clone_to_cache"] = clone_to_cache
    former = sys.modules.get(_CACHE)
    sys.modules[_CACHE] = stand_in
    try:
        yield
    finally:
        del sys.modules[_CACHE]
        if former is not None:
            sys.modules[_CACHE] = former


@contextlib.contextmanager
def _patient_git() -> Iterator[None]:
    """Keep git from waiting for ever while the block runs."""
    added = [name for name in _PATIENCE if name not in os.environ]
    os.environ.update({name: _PATIENCE[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _reason(error: BaseException) -> str:
    """Say in one line why a download failed; git's own words, if there are any."""
    text = str(getattr(error, "stderr", None) or error)
    line = " ".join(text.split()).removeprefix("stderr:").strip(" '")
    return line or type(error).__name__


def _packages(module: ModuleType) -> tuple[tuple[str, Path], ...]:
    package = Path(module.PACKAGE_PATH)
    repository = Path(module.REPOSITORY_PATH)
    # Further repositories whose files a xacro file includes.
    needed: Mapping[str, str] = getattr(module, "XACRO_PACKAGE_PATHS", {})
    return first_of_each(
        *((name, Path(path)) for name, path in needed.items()),
        (package.name, package),
        (repository.name, repository),
        *ros_packages(repository),
    )
