"""A page for every chapter of the feature suite."""

from __future__ import annotations

import re
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from pxr import Usd

from tests.tools.documentation.text import escaped, fenced, page, table
from urdf_usd import ConversionError, Diagnostic, convert
from urdf_usd.corpus.installed import locate_cases, suite_manifest, suite_versions
from urdf_usd.corpus.robots import RobotSource, SuiteCase
from urdf_usd.reports.records.suite_case import Case, read_case

_VERSION = suite_versions()[-1]
CHAPTERS = {one["name"]: one for one in suite_manifest(_VERSION)["chapters"]}
# Lines of a file, and characters of a value, that are shown.
_LINES = 150
_CHARACTERS = 160
_NAMES = {
    "com": "centre of mass",
    "mass_below": "mass, positive and below",
    "rotation_wxyz": "rotation (w, x, y, z)",
    "articulation_roots": "articulation roots",
    "total_mass": "mass",
    "dofs": "joints that move",
    "q": "position",
    "inertia": "inertia (xx, xy, xz, yy, yz, zz)",
    "color": "linear colour",
}


def chapter_page(name: str) -> str:
    """Convert the cases of a chapter, and return its page."""
    chapter = CHAPTERS[name]
    about = (
        f"The cases `suite:{name}` of the [feature suite](../suite.md), version "
        f"{_VERSION}. Values are in SI units, angles in radians. The USD is what "
        "`urdf-usd convert` writes, with all layers composed into one."
    )
    blocks = [f"# {chapter['title']}", escaped(chapter["about"]), about]
    for source in locate_cases(f"{_VERSION}/{name}"):
        assert source.case is not None  # a source of the suite
        blocks += _case_blocks(source, source.case)
    return page(*blocks)


def _case_blocks(source: RobotSource, stated: SuiteCase) -> Iterator[str]:
    case = read_case(stated.text)
    yield f"## {stated.name}"
    yield escaped(case.shows)
    yield f"**{case.requirement.value}**: {escaped(case.clause)}"
    if case.derivation is not None:
        yield f"Derivation: {escaped(case.derivation)}"
    rows = tuple(_rows(case))
    if rows:
        yield table(("", "quantity", "expected"), rows)
    if case.expected.refused:
        yield "The file is refused: no USD is written."
    text = source.path.read_text(encoding="utf-8", errors="replace")
    usd, diagnostics = _converted(source)
    if diagnostics:
        yield "Diagnostics of `urdf-usd`:"
        yield fenced("text", "\n".join(map(_diagnostic_line, diagnostics)))
    yield _details("URDF", "xml", text)
    if usd is not None:
        yield _details("USD", "usda", usd)


def _converted(source: RobotSource) -> tuple[str | None, tuple[Diagnostic, ...]]:
    """Return the composed USD and the diagnostics; no USD if the file is refused."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = convert(source.reference, Path(folder) / "asset")
        except ConversionError as error:
            return None, error.diagnostics
        stage = Usd.Stage.Open(str(done.root_layer))
        layer = stage.Flatten(addSourceFileComment=False)
        layer.ClearCustomLayerData()
        layer.GetPrimAtPath(f"/{layer.defaultPrim}").ClearInfo("assetInfo")
        text = layer.ExportToString().replace(str(done.root_layer.parent), ".")
    return "\n".join(map(_shortened, text.strip().splitlines())), done.diagnostics


def _shortened(line: str) -> str:
    """Shorten the value of a long array; points of a mesh, for example."""
    found = re.fullmatch(r"(.* = \[)(.*)\]", line)
    if found is None or len(found[2]) <= _CHARACTERS:
        return line
    parts = re.findall(r"\([^)]*\)|[^, ]+", found[2])
    return f"{found[1]}{', '.join(parts[:4])}, ...]  # {len(parts)} elements"


def _details(title: str, language: str, text: str) -> str:
    """Return a code block that a reader opens."""
    lines = text.strip("\n").splitlines()
    if len(lines) > _LINES:
        more = len(lines) - _LINES
        lines = [*lines[:_LINES], f"... {more} more lines"]
    block = fenced(language, "\n".join(line.rstrip() for line in lines))
    return f'??? quote "{title}"\n\n{textwrap.indent(block, "    ")}'


def _diagnostic_line(diagnostic: Diagnostic) -> str:
    place = diagnostic.location
    where = f"{place.line}:{place.column}: " if place else ""
    text = " ".join(diagnostic.message.split())
    return f"{where}{diagnostic.severity.value}: {text} [{diagnostic.rule}]"


def _rows(case: Case) -> Iterator[tuple[str, str, str]]:
    """Return the expected values as rows: subject, quantity, value."""
    stated: dict[str, Any] = msgspec.to_builtins(case.expected)
    robot = ("name", "base", "links", "dofs", "total_mass", "articulation_roots")
    yield from _value_rows("robot", {key: stated[key] for key in robot if key in stated})
    for rule in stated.get("diagnostics", ()):
        yield "`urdf-usd`", "reports the rule", f"`{rule}`"
    for name, joint in stated.get("joints", {}).items():
        yield from _value_rows(f"joint `{name}`", joint)
    for body in stated.get("bodies", ()):
        links = " with ".join(f"`{name}`" for name in body.pop("links"))
        yield from _value_rows(f"link {links}", body)
    for pose in stated.get("poses", ()):
        joints = pose.get("q", {}).items()
        where = ", ".join(f"{name} = {_value(position)}" for name, position in joints)
        for name, frame in pose["links"].items():
            at = f" at {where}" if where else ""
            yield from _value_rows(f"link `{name}`", frame, after=at)
    for role in ("colliders", "visuals"):
        for name, shapes in stated.get(role, {}).items():
            yield from _shape_rows(f"{role} of `{name}`", shapes)


def _value_rows(
    subject: str, values: Mapping[str, Any], *, before: str = "", after: str = ""
) -> Iterator[tuple[str, str, str]]:
    for key, value in values.items():
        yield subject, f"{before}{_NAMES.get(key, key)}{after}", _value(value, key)


def _shape_rows(subject: str, shapes: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    if not shapes:
        yield subject, "number", "0"
    for number, shape in enumerate(shapes, start=1):
        before = f"{number}: " if len(shapes) > 1 else ""
        parts = shape.pop("appearances", ())
        if not shape and not parts:
            yield subject, f"{before}shape", "any"
        for values in (shape, *parts):
            yield from _value_rows(subject, values, before=before)


def _value(value: object, key: str = "") -> str:
    """Return a value as text; null is a value that the USD must not state."""
    match value:
        case None:
            return "none"
        case "inf" | "-inf" if key in {"lower", "upper"}:
            return "unlimited"
        case float():
            return f"{value:.6g}"
        case Mapping():
            return ", ".join(f"{name} {_value(one)}" for name, one in value.items())
        case list() | tuple():
            return ", ".join(map(_value, value)) or "none"
        case _:
            return escaped(str(value))
