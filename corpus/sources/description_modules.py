"""The modules of the robot_descriptions package.

Importing a description's module clones its repository, so it is announced first. What
git or the module prints goes to stderr: stdout belongs to the command's result.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus.identifiers import identifier
from corpus.packages import first_of_each, ros_packages
from corpus.references import Scheme
from corpus.robots import (
    Announce,
    RobotSource,
    UnavailableError,
    UnknownRobotError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

REMEDY = "pip install 'urdf-usd-conformance[robot-descriptions]'"
_SHA1_LENGTH = 40


def names() -> tuple[str, ...]:
    """List the modules that the package says have a URDF, or xacro to make one.

    Raises:
        UnavailableError: The package is not installed.
    """
    known = _descriptions()
    return tuple(sorted(name for name in known if known[name].has_urdf))


def locate(target: str, announce: Announce) -> RobotSource:
    """Find one robot by the name of its module, downloading it if need be.

    Raises:
        UnknownRobotError: There is no such module.
        UnavailableError: It cannot be downloaded, or has neither URDF nor xacro.
    """
    known = _descriptions()
    if target not in known:
        close = difflib.get_close_matches(f"{target}_description", known, n=3)
        hint = f"; close to it: {', '.join(close)}" if close else ""
        raise UnknownRobotError(f"robot_descriptions has no module {target!r}{hint}")
    if not known[target].has_urdf:
        formats = ", ".join(sorted(form.name for form in known[target].formats))
        raise UnavailableError(f"{target} has no URDF, only {formats}")
    module = _import_description(target, known[target].repository, announce)
    path, arguments = _description(module)
    if path is None:
        raise UnavailableError(f"{target} has neither URDF nor xacro")
    if not Path(path).is_file():
        raise UnavailableError(
            f"{target}: {Path(path).name} is missing from the downloaded repository"
        )
    return RobotSource(
        id=identifier(Scheme.DESCRIPTIONS, target),
        reference=f"{Scheme.DESCRIPTIONS}:{target}",
        path=Path(path),
        packages=_packages(module),
        arguments=arguments,
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


def _descriptions() -> Mapping[str, Any]:
    try:
        package = importlib.import_module("robot_descriptions")
    except ModuleNotFoundError:
        raise UnavailableError(
            f"robot_descriptions is not installed; {REMEDY}"
        ) from None
    known: Mapping[str, Any] = package.DESCRIPTIONS
    return known


def _import_description(
    name: str, repository: str | None, announce: Announce
) -> ModuleType:
    module = f"robot_descriptions.{name}"
    if module in sys.modules:
        return sys.modules[module]
    # GitPython refuses to be imported where there is no git.
    try:
        git = importlib.import_module("git")
        repositories = importlib.import_module("robot_descriptions._repositories")
    except ImportError:
        raise UnavailableError(
            f"{name} cannot be downloaded without git; install git"
        ) from None
    found = repositories.REPOSITORIES.get(repository)
    if found is not None and not _cached(found.cache_path, found.commit):
        announce(f"downloading {name} from {found.url}")
    # A few modules also patch the file they downloaded, hence the last two errors.
    failures = (git.GitError, ImportError, OSError, ValueError, SyntaxError)
    try:
        with (
            contextlib.redirect_stdout(sys.stderr),
            warnings.catch_warnings(record=True, action="always") as heard,
        ):
            imported = importlib.import_module(module)
    except failures as error:
        raise UnavailableError(
            f"{name} cannot be downloaded: {_reason(error)}"
        ) from error
    for warning in heard:
        announce(f"{name}: {warning.message}")
    return imported


def _reason(error: BaseException) -> str:
    """Say in one line why a download failed; git's own words, if there are any."""
    text = str(getattr(error, "stderr", None) or error)
    line = " ".join(text.split()).removeprefix("stderr:").strip(" '")
    return line or type(error).__name__


def _cached(cache_path: str, commit: str) -> bool:
    """Tell whether importing a module will find its files without the network."""
    default = "~/.cache/robot_descriptions"
    cache = os.environ.get("ROBOT_DESCRIPTIONS_CACHE", default)
    folder = Path(cache).expanduser() / cache_path
    head = folder / ".git" / "HEAD"
    # A download that failed leaves a repository without files.
    if not head.is_file() or all(path.name == ".git" for path in folder.iterdir()):
        return False
    pinned_by_tag = len(commit) != _SHA1_LENGTH
    return pinned_by_tag or head.read_text().strip() == commit


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
