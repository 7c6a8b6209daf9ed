"""Xacro to URDF, in a process of its own with limits on time, memory and size.

xacro is a programming language: it has loops, recursion, and Python expressions. See
``xacro_process`` for what a file can and cannot do there.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.diagnostics.messages import truncate
from urdf_usd.converter.urdf.files.uris import FileResolver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from urdf_usd.converter.urdf.xml.elements import Element

SUFFIX = ".xacro"

_OF_PARTS = frozenset(
    {"xacro-error", "xacro-file-missing", "robot-empty", "root-element"}
)
_PROGRAM = Path(__file__).with_name("xacro_process.py")


@dataclass(frozen=True, slots=True)
class Expansion:
    """What a xacro file expands to.

    Attributes:
        text: The URDF, without an XML declaration.
        origins: Of every element, in document order, the place in a xacro file.
        diagnostics: What xacro warned of.
        files: What was included, or read as YAML, each once.
    """

    text: str
    origins: tuple[Location, ...]
    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """How much an expansion may take.

    Attributes:
        time: Longest time [s].
        memory: Largest amount of memory [bytes]; not enforced on Windows.
        elements: Largest number of elements of the result.
    """

    time: float = 60.0
    memory: int = 2 << 30
    elements: int = 100_000


LIMITS = Limits()


def is_xacro(file: str) -> bool:
    """Whether a file is called like xacro."""
    return file.lower().endswith(SUFFIX)


def is_part(refusals: Iterable[str]) -> bool:
    """Whether a xacro file looks like a part of a robot, which others include.

    Args:
        refusals: Rules by which the file is refused. A part has no links of its own, or
            does not expand without what others define.
    """
    return not _OF_PARTS.isdisjoint(refusals)


def expand(
    file: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    limits: Limits = LIMITS,
) -> Expansion:
    """Expand a xacro file.

    ``$(find NAME)`` looks for packages as ``package://NAME`` does. A package that is
    not found becomes ``package://NAME``: it may only be needed as text.

    Args:
        file: Its path; places in it are named as it is given here.
        packages: Folders of ROS packages, by name.
        arguments: Values of ``<xacro:arg>`` by name.
        limits: How much it may take.

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
        "most_elements": limits.elements,
        "memory": limits.memory,
    }
    # Which packages are needed shows on the way; all in all, they are few.
    while "missing" in (answer := _ask(file, request, deadline, limits)):
        name = answer["missing"]
        folder = resolver.package(name)
        folders[name] = str(folder) if folder else f"package://{name}"
        if folder is None:
            message = f"package {truncate(repr(name))} is not found"
            place = _location(answer, file)
            found.append(Diagnostic("package-missing", message, place))
    if "error" in answer:
        rule = "xacro-file-missing" if answer["absent"] else "xacro-error"
        error = Diagnostic(rule, answer["error"], _location(answer, file))
        raise SourceError((*found, error))
    found += _findings(answer, file, resolver, folders)
    return Expansion(
        text=answer["text"],
        origins=_origins(answer["places"]),
        diagnostics=tuple(found),
        files=tuple(read["path"] for read in answer["files"]),
    )


def _findings(
    answer: Mapping[str, Any],
    file: str,
    resolver: FileResolver,
    packages: Iterable[str],
) -> Iterator[Diagnostic]:
    """Say what is odd about an expansion that succeeded."""
    for read in answer["files"]:
        if not resolver.owns(Path(read["path"]), packages):
            message = f"{read['path']!r} leads out of the robot's own folders"
            yield Diagnostic("file-outside", message, _location(read, file))
    for warning in answer["warnings"]:
        yield Diagnostic("xacro-warning", warning["message"], _location(warning, file))
    for name in answer["unused"]:
        message = f"argument {truncate(repr(name))} is not used by {Path(file).name}"
        yield Diagnostic("xacro-argument-unused", message, Location(file, 1, 1))


def _origins(places: Iterable[tuple[str, int, int]]) -> tuple[Location, ...]:
    """Make distinct locations of places; a macro makes many elements of one."""
    copies: Counter[Location] = Counter()
    origins = []
    for file, line, column in places:
        place = Location(file, line, column)
        origins.append(replace(place, copy=copies[place]))
        copies[place] += 1
    return tuple(origins)


def relocated(root: Element, origins: Iterator[Location]) -> Element:
    """Return an element with the place of itself and all below in the xacro files.

    Args:
        root: Element of the expanded text.
        origins: As in :class:`Expansion`, from this element on.
    """
    place = next(origins)
    children = tuple(relocated(child, origins) for child in root.children)
    return replace(root, location=place, children=children)


def _ask(
    file: str, request: Mapping[str, object], deadline: float, limits: Limits
) -> dict[str, Any]:
    import json  # noqa: PLC0415  plain URDF needs neither
    import subprocess  # noqa: PLC0415

    # -P: a module beside the robot must not take the place of an installed one.
    command = (sys.executable, "-P", str(_PROGRAM))
    try:
        process = subprocess.run(  # noqa: S603  our own program
            command,
            input=json.dumps(request),
            capture_output=True,
            check=False,
            encoding="utf-8",
            timeout=max(deadline - time.monotonic(), 0.0),
            # The order of Python's sets must not differ between two expansions.
            env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8"},
        )
    except subprocess.TimeoutExpired:
        message = f"xacro has not ended after {limits.time:g} s"
        raise _failure(file, message) from None
    if process.returncode:
        last = (process.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise _failure(file, f"xacro died: {truncate(last)}")
    answer: dict[str, Any] = json.loads(process.stdout)
    return answer


def _failure(file: str, message: str) -> SourceError:
    return SourceError((Diagnostic("xacro-error", message, Location(file, 1, 1)),))


def _location(answer: Mapping[str, Any], file: str) -> Location:
    place = (answer.get("file"), answer.get("line"), answer.get("column"))
    return Location(*place) if all(place) else Location(file, 1, 1)  # type: ignore[arg-type]  # all are known then
