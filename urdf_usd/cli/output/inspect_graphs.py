"""The kinematic tree as a Graphviz or Mermaid graph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from urdf_usd.cli.output.inspect_text import joint_summary, number
from urdf_usd.reports.text import one_line

if TYPE_CHECKING:
    from urdf_usd.converter.inspection import Inspection
    from urdf_usd.converter.robot.model import Joint, Link


_LONGEST = 120
# Characters that end a quoted label, start an entity or count as markup.
_MERMAID = re.compile(r"[\"#&<>`\\|;]")


def robot_dot(inspection: Inspection) -> str:
    """Return a directed graph in DOT: links as boxes, joints as edges."""
    lines = [
        f"digraph {_dot(inspection.robot.name)} {{",
        '  node [shape=box, fontname="sans-serif"];',
        '  edge [fontname="sans-serif", fontsize=10];',
    ]
    for identifier, link in _links(inspection):
        label = "\\n".join(map(_dot_text, _link_label(link)))
        lines.append(f'  {identifier} [label="{label}"];')
    for parent, child, joint in _edges(inspection):
        label = "\\n".join(map(_dot_text, _joint_label(joint)))
        lines.append(f'  {parent} -> {child} [label="{label}"];')
    return "\n".join([*lines, "}"])


def robot_mermaid(inspection: Inspection) -> str:
    """Return a Mermaid flowchart, which Markdown viewers render."""
    lines = ["flowchart TD"]
    for identifier, link in _links(inspection):
        label = "<br/>".join(map(_mermaid_text, _link_label(link)))
        lines.append(f'  {identifier}["{label}"]')
    for parent, child, joint in _edges(inspection):
        label = "<br/>".join(map(_mermaid_text, _joint_label(joint)))
        lines.append(f'  {parent} -->|"{label}"| {child}')
    return "\n".join(lines)


def _links(inspection: Inspection) -> Iterator[tuple[str, Link]]:
    """Yield the links in tree order, each with an identifier valid in both."""
    for index, name in enumerate(inspection.tree.links):
        yield f"link{index}", inspection.tree.link[name]


def _edges(inspection: Inspection) -> Iterator[tuple[str, str, Joint]]:
    tree = inspection.tree
    identifiers = {link.name: identifier for identifier, link in _links(inspection)}
    for name in tree.links:
        for joint in tree.child_joints[name]:
            yield identifiers[name], identifiers[joint.child], joint


def _link_label(link: Link) -> tuple[str, ...]:
    mass = (f"{number(link.mass)} kg",) if link.inertial else ()
    return (link.name, *mass)


def _joint_label(joint: Joint) -> tuple[str, ...]:
    return (joint.name, joint_summary(joint))


def _dot(text: str) -> str:
    return f'"{_dot_text(text)}"'


def _dot_text(text: str) -> str:
    return one_line(text, _LONGEST).replace("\\", "\\\\").replace('"', '\\"')


def _mermaid_text(text: str) -> str:
    return _MERMAID.sub(lambda found: f"#{ord(found[0])};", one_line(text, _LONGEST))
