"""A robot as a tree of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from urdf_usd.conformance.cli.output.inspect_wording import (
    joint_details,
    joint_summary,
    number,
    placement,
    shape_summary,
)
from urdf_usd.converter.robot.model import Visual
from urdf_usd.reports.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from urdf_usd.converter.extents import Bounds
    from urdf_usd.converter.inspection import Inspection, Totals
    from urdf_usd.converter.robot.model import Link, Material

_LONGEST = 300
# Deeper links are not indented any further; their depth is told instead.
_DEEPEST = 40
# Lines are not wrapped to less than this.
_NARROWEST = 24


def tree_lines(inspection: Inspection, console: Console, width: int) -> Iterator[Text]:
    """Write the tree, then the sums.

    Args:
        inspection: The robot.
        console: What wraps the lines.
        width: Where they are wrapped.
    """
    yield Text.assemble("robot ", (_shown(inspection.robot.name), "bold"))
    tree = inspection.tree
    # What stands before the first line of a link, and before all that follows.
    guides = {tree.root: ("", "")}
    depths = {tree.root: 0}
    for name in tree.links:
        first, rest = guides[name]
        joints = tree.child_joints[name]
        own = "│ " if joints else "  "
        lines = list(_link_lines(inspection, tree.link[name], depths[name]))
        for number_, line in enumerate(lines):
            lead = first if number_ == 0 else rest + own
            available = max(_NARROWEST, width - len(lead))
            for part, wrapped in enumerate(line.wrap(console, available)):
                yield Text.assemble((rest + own if part else lead, "dim"), wrapped)
        for joint in joints:
            is_last = joint is joints[-1]
            depths[joint.child] = depths[name] + 1
            guides[joint.child] = (
                (rest + ("└─" if is_last else "├─"), rest + ("  " if is_last else "│ "))
                if depths[joint.child] <= _DEEPEST
                else guides[name]
            )
    yield Text()
    yield from _total_lines(inspection.totals)


def _link_lines(inspection: Inspection, link: Link, depth: int) -> Iterator[Text]:
    mass = f"  {number(link.mass)} kg" if link.inertial else ""
    deep = f"  (depth {depth})" if depth > _DEEPEST else ""
    yield Text.assemble((_shown(link.name), "bold"), mass, (deep, "dim"))
    joint = inspection.tree.parent_joint.get(link.name)
    if joint:
        summary = ", ".join((joint_summary(joint), *joint_details(joint)))
        yield Text.assemble((_shown(joint.name), "cyan"), f": {_shown(summary)}")
    for shape in link.shapes:
        role = "visual" if isinstance(shape, Visual) else "collision"
        what = shape_summary(shape.geometry, inspection.meshes.by_path)
        place = "".join(f", {one}" for one in placement(shape.origin))
        line = Text.assemble((role, "green"), f" {_shown(what + place)}")
        if isinstance(shape, Visual) and shape.material:
            line.append_text(_material(shape.material))
        yield line


def _material(material: Material) -> Text:
    said = Text(", ")
    if material.rgba:
        red, green, blue = (round(255 * part) for part in material.rgba[:3])
        hexadecimal = f"#{red:02x}{green:02x}{blue:02x}"
        said.append("■", hexadecimal).append(f" {hexadecimal}")
        if material.rgba[3] < 1.0:
            said.append(f" opacity {number(material.rgba[3])}")
        said.append(" ")
    if material.texture_uri:
        said.append(f"texture {_shown(material.texture_uri)} ")
    return said.append(_shown(material.name or "")) if material.name else said


def _total_lines(totals: Totals) -> Iterator[Text]:
    kinds = ", ".join(f"{count} {kind}" for kind, count in totals.joints.items())
    freedom = str(totals.degrees_of_freedom)
    if totals.independent != totals.degrees_of_freedom:
        freedom += f", of which {totals.independent} follow no other"
    meshes = f"{totals.meshes} files, {totals.triangles} triangles"
    rows = (
        ("links", str(totals.links)),
        ("joints", f"{sum(totals.joints.values())}{f' ({kinds})' if kinds else ''}"),
        ("degrees of freedom", freedom),
        ("mass", f"{number(totals.mass)} kg"),
        ("shapes", f"{totals.visuals} visual, {totals.collisions} collision"),
        ("meshes", meshes if totals.meshes else "none"),
        ("bounds at zero", _bounds(totals.bounds)),
    )
    width = max(len(title) for title, _ in rows)
    for title, value in rows:
        yield Text.assemble((f"{title:{width}}", "bold"), f"  {value}")


def _bounds(bounds: Bounds | None) -> str:
    if bounds is None:
        return "no shapes"
    edges = " x ".join(map(number, bounds.size))
    corners = (", ".join(map(number, end)) for end in (bounds.lower, bounds.upper))
    return f"{edges} m, from ({') to ('.join(corners)})"


def _shown(text: str) -> str:
    return one_line(text, _LONGEST)
