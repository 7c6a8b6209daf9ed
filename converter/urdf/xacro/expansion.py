"""Expansion of xacro in a separate process with limits on time, memory and size.

xacro is a programming language with loops, recursion and Python expressions; see
``xacro_process`` for its restrictions.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.diagnostics.messages import truncate
from urdf_usd.converter.urdf.files.uris import FileResolver
from urdf_usd.converter.urdf.xml import Element

SUFFIX = ".xacro"

_WITHOUT_LINKS = frozenset({"robot-empty", "root-element", "xacro-part"})
_NOT_EXPANDED = frozenset({"xacro-error", "xacro-file-missing"})
_PROGRAM = Path(__file__).with_name("xacro_process.py")


class Expansion(Struct, frozen=True):
    """An expanded xacro file.

    Attributes:
        text: The URDF, without an XML declaration.
        origins: Locations of all elements in the xacro files, in document order.
        diagnostics: Warnings.
        files: Files that were included, or read as YAML.
    """

    text: str
    origins: tuple[Location, ...]
    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...] = ()


class Limits(Struct, frozen=True):
    """Limits of an expansion.

    Attributes:
        time: Longest time [s].
        memory: Largest amount of memory [bytes]; not enforced on Windows.
        elements: Largest number of elements of the result.
    """

    time: float = 60.0
    memory: int = 2 << 30
    elements: int = 100_000


LIMITS = Limits()

# Variables of a ROS workspace, which xacro files may read: folders and versions.
ROS_VARIABLES = (
    "AMENT_PREFIX_PATH",
    "CMAKE_PREFIX_PATH",
    "COLCON_PREFIX_PATH",
    "ROS_DISTRO",
    "ROS_ETC_DIR",
    "ROS_PACKAGE_PATH",
    "ROS_PYTHON_VERSION",
    "ROS_ROOT",
    "ROS_VERSION",
)
# What Python needs to start and to find xacro; xacro files cannot read these.
_PYTHON_VARIABLES = (
    *("DYLD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "PATH"),
    *("PYTHONHOME", "PYTHONPATH", "PYTHONUTF8", "SYSTEMROOT"),
)
# How much later than this process the child ends itself [s].
_GRACE = 1.0


def allowed_environment(
    names: Iterable[str] = (), environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the environment variables that a xacro file may read, sorted by name.

    An expansion depends on no others.

    Args:
        names: Variables allowed by the user, besides those of ROS.
        environment: All variables, of which unset ones are left out.
    """
    allowed = sorted({*ROS_VARIABLES, *names})
    return {name: environment[name] for name in allowed if name in environment}


def is_xacro(file: str) -> bool:
    """Return whether the name of a file ends in ``.xacro``."""
    return file.lower().endswith(SUFFIX)


def is_part(refusals: Iterable[str], *, included: bool) -> bool:
    """Return whether a xacro file that is not a robot is only a part of one.

    Args:
        refusals: Rules of the errors of the file. A part has no links, or does not
            expand without the definitions of the files that include it.
        included: Whether another file includes it.
    """
    refused = frozenset(refusals)
    return bool(refused & _WITHOUT_LINKS) or (included and bool(refused & _NOT_EXPANDED))


def expand(
    file: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    limits: Limits = LIMITS,
    *,
    environment: Collection[str] = (),
) -> Expansion:
    """Expand a xacro file.

    ``$(find NAME)`` looks packages up as ``package://NAME`` does. A package that is not
    found becomes ``package://NAME``, because it may only be used as text.

    Args:
        file: Its path, named in locations as given.
        packages: Folders of ROS packages, by name.
        arguments: Values of ``<xacro:arg>`` by name.
        limits: Limits of the expansion.
        environment: Names of environment variables that the file may read, besides
            those of ROS.

    Raises:
        SourceError: It cannot be expanded.
    """
    resolver = FileResolver(Path(file), packages, os.environ)
    deadline = time.monotonic() + limits.time
    folders: dict[str, str] = {}
    found: list[Diagnostic] = []
    request = {
        "path": file,
        "arguments": dict(arguments),
        "packages": folders,
        "environment": allowed_environment(environment),
        "allowed": list(environment),
        "most_elements": limits.elements,
        "memory": limits.memory,
    }
    # The needed packages become known during the expansion, which is repeated.
    while "missing" in (answer := _request(file, request, deadline, limits)):
        name = answer["missing"]
        folder = resolver.package(name)
        folders[name] = str(folder) if folder else f"package://{name}"
        if folder is None:
            message = f"package {truncate(repr(name))} is not found"
            place = _location(answer, file)
            found.append(Diagnostic("package-missing", message, place))
    if "forbidden" in answer:
        name = answer["forbidden"]
        message = f"environment variable {name!r} may not be read {_remedy(name)}"
        error = Diagnostic("xacro-environment", message, _location(answer, file))
        raise SourceError((*found, error))
    if "error" in answer:
        rule = "xacro-file-missing" if answer["absent"] else "xacro-error"
        error = Diagnostic(rule, answer["error"], _location(answer, file))
        raise SourceError((*found, error))
    found += _findings(answer, file, resolver, folders)
    return Expansion(
        text=answer["text"],
        origins=_origins(answer["places"], answer["place_files"]),
        diagnostics=tuple(found),
        files=tuple(read["path"] for read in answer["files"]),
    )


def _findings(
    answer: Mapping[str, Any],
    file: str,
    resolver: FileResolver,
    packages: Iterable[str],
) -> Iterator[Diagnostic]:
    """Yield the warnings of a successful expansion."""
    for read in answer["files"]:
        if not resolver.owns(Path(read["path"]), packages):
            message = f"{read['path']!r} is outside the robot's own folders"
            yield Diagnostic("file-outside", message, _location(read, file))
    for warning in answer["warnings"]:
        yield Diagnostic("xacro-warning", warning["message"], _location(warning, file))
    for variable in answer["withheld"]:
        name = variable["name"]
        if name in os.environ:
            message = (
                f"environment variable {name!r} may not be read {_remedy(name)}; "
                "its default is used"
            )
            place = _location(variable, file)
            yield Diagnostic("xacro-environment-default", message, place)
    for name in answer["unused"]:
        message = f"argument {truncate(repr(name))} is not used by {Path(file).name}"
        yield Diagnostic("xacro-argument-unused", message, Location(file, 1, 1))


def _remedy(name: str) -> str:
    return f"without --env {shlex.quote(truncate(name))}"


def _origins(places: Iterable[tuple[int, int, int]], files: Sequence[str]) -> tuple[Location, ...]:
    """Return distinct locations; a macro creates many elements at one position."""
    copies: Counter[Location] = Counter()
    origins = []
    for file, line, column in places:
        place = Location(files[file], line, column)
        origins.append(structs.replace(place, copy=copies[place]))
        copies[place] += 1
    return tuple(origins)


def relocated(root: Element, origins: Iterator[Location]) -> Element:
    """Return an element with locations in the xacro files.

    Args:
        root: Element of the expanded text.
        origins: As in :class:`Expansion`, from this element on.
    """
    place = next(origins)
    children = tuple(relocated(child, origins) for child in root.children)
    return structs.replace(root, location=place, children=children)


def _request(
    file: str, request: Mapping[str, object], deadline: float, limits: Limits
) -> dict[str, Any]:

    # -P: modules in the working folder must not shadow installed ones.
    command = (sys.executable, "-P", str(_PROGRAM))
    remaining = max(deadline - time.monotonic(), 0.0)
    request = {**request, "parent": os.getpid(), "time": remaining + _GRACE}
    needed = (*ROS_VARIABLES, *_PYTHON_VARIABLES)
    environment = {name: os.environ[name] for name in needed if name in os.environ}
    try:
        process = subprocess.run(
            command,
            input=json.dumps(request),
            capture_output=True,
            check=False,
            encoding="utf-8",
            timeout=remaining,
            # For a deterministic order of sets.
            env={**environment, "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8"},
        )
    except subprocess.TimeoutExpired:
        message = f"xacro has not ended after {limits.time:g} s"
        raise _failure(file, message) from None
    if process.returncode:
        last = (process.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise _failure(file, f"xacro crashed: {truncate(last)}")
    answer: dict[str, Any] = json.loads(process.stdout)
    return answer


def _failure(file: str, message: str) -> SourceError:
    return SourceError((Diagnostic("xacro-error", message, Location(file, 1, 1)),))


def _location(answer: Mapping[str, Any], file: str) -> Location:
    place = (answer.get("file"), answer.get("line"), answer.get("column"))
    return Location(*place) if all(place) else Location(file, 1, 1)  # type: ignore[arg-type]  # all are known then
