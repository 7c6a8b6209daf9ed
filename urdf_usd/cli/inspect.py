"""``urdf-usd inspect`` and ``behave``: what a robot is, and what it does in simulators.

A robot is shown as a tree of lines, as JSON, as a graph, or by its joint orders.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias, assert_never

import click
import msgspec
import numpy as np
from msgspec import structs
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from urdf_usd.cli import terminal as t
from urdf_usd.cli.parameters import existing_robot, of_robot, parse_robot, with_stated_settings
from urdf_usd.cli.program import USD_SUFFIXES, Behave, Inspect
from urdf_usd.conformance import simulations
from urdf_usd.conformance.engines.protocol import Unavailable, optional_engine
from urdf_usd.conformance.execution.run import check
from urdf_usd.conformance.execution.worker import call_on_usd
from urdf_usd.conformance.export.assets import inspect_usd
from urdf_usd.conformance.options import CheckOptions
from urdf_usd.converter.conversion import convert, convert_parsed
from urdf_usd.converter.inspection import Inspection, MeshExtent, Totals, kind_name
from urdf_usd.converter.inspection import inspect as inspect_robot
from urdf_usd.converter.options import ConvertOptions, Sources
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.spatial import rotation_from_quat_wxyz, rpy_from_rotation
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.corpus import RobotSource
from urdf_usd.reports.summary import joint_orders
from urdf_usd.reports.text import one_line

Json: TypeAlias = dict[str, Any]

SCHEMA_VERSION = "1.0"
# Where a file is, and totals of other values.
_NO_VALUES = frozenset({"schema_version", "totals", "uri", "found"})
_LONGEST_LABEL = 120
# Characters that end a quoted label, start an entity or count as markup.
_MERMAID = re.compile(r"[\"#&<>`\\|;]")
# Of joints with an axis: the word before it, and the unit of limits.
_MOTIONS: Mapping[type, tuple[str, str]] = {
    m.Revolute: ("about", "rad"),
    m.Prismatic: ("along", "m"),
    m.Continuous: ("about", ""),
    m.Planar: ("normal to", ""),
}
_LONGEST = 300
# Links below this depth are not indented further.
_DEEPEST = 40


def inspect(options: Inspect) -> None:
    robot = existing_robot(options.source)
    reading = options.reading
    is_usd = robot.path.suffix.lower() in USD_SUFFIXES
    if (reading.variants or reading.strict) and not (is_usd and not options.joints):
        option = "--variant" if reading.variants else "--strict"
        raise click.UsageError(f"{option} requires a USD, but SOURCE is {options.source}")
    sources = of_robot(options.sources, robot)
    if options.joints:
        _show_joints(robot, sources, options)
        return
    if is_usd:
        read = partial(inspect_usd, variants=reading.variants, strict=reading.strict)
        inspection, diagnostics = call_on_usd(read, robot.path, limits=options.limits)
        t.show_diagnostics(diagnostics)
    else:
        inspection = inspect_robot(parse_robot(robot, sources).robot)
    match options.output_format:
        case "json":
            click.echo(json.dumps(_document(inspection), indent=1, allow_nan=False))
        case "dot" | "mermaid" as language:
            click.echo(robot_graph(inspection, language))
        case "text":
            t.print_lines(tree_lines(inspection))


def _show_joints(robot: RobotSource, sources: Sources, options: Inspect) -> None:
    t.require_outputs([(options.numpy_file, t.ARRAYS)], (robot.path, options.usd))
    read = structs.asdict(sources)
    with t.shown_status("Reading joints ..."), temporary_folder() as folder:
        usd = options.usd
        if usd is None:
            usd = convert(robot.path, folder / "usd", ConvertOptions(**read)).root_layer
        comparison = CheckOptions(**read, engines=options.engines, limits=options.limits)
        record = check(robot, usd, comparison)
    orders = joint_orders(record)
    if orders is None:
        click.echo(f"{record.name}: no joint moves", err=True)
        return
    names = {engine.name: engine.joint_order for engine in record.engines}
    numbered = {engine: names[engine] for engine in orders.engines}
    maps = index_maps(numbered)
    if options.numpy_file:
        stream = io.BytesIO()
        np.savez(stream, allow_pickle=False, **maps)
        t.write_output(options.numpy_file, stream.getvalue())
    if options.output_format == "json":
        lists = {name: indices.tolist() for name, indices in maps.items()}
        document = {"robot": record.name, "joints": numbered, "maps": lists}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    # What differs from the first engine is yellow.
    table = Table("joint", box=None, header_style="bold", pad_edge=False)
    for engine in orders.engines:
        table.add_column(engine, justify="right")
    for name, indices in orders.rows:
        texts = ("-" if one is None else str(one) for one in indices)
        styles = ("" if one == indices[0] else "yellow" for one in indices)
        table.add_row(_shown(name), *map(Text, texts, styles))
    t.print_lines([table])


def index_maps(orders: Mapping[str, Sequence[str]]) -> dict[str, NDArray[np.int64]]:
    """Return an index map for every ordered pair of engines, from the names of joints by engine.

    By ``<from>_to_<to>`` the (n,) indices with which ``q_to = q_from[map]``, where q has one entry
    per joint in the order of an engine. An entry is -1 where the first engine lacks the joint.
    """
    return {
        f"{source}_to_{target}": np.array(
            [names.index(name) if name in names else -1 for name in others], dtype=np.int64
        )
        for source, names in orders.items()
        for target, others in orders.items()
        if source != target
    }


def tree_lines(inspection: Inspection) -> Iterator[Text]:
    yield Text.assemble("robot ", (_shown(inspection.robot.name), "bold"))
    tree = inspection.tree
    # Prefix of the first line of a link and of its further lines, and its depth.
    guides = {tree.root: ("", "", 0)}
    for name in tree.links:
        first, rest, depth = guides[name]
        joints = tree.child_joints[name]
        lead, further = first, rest + ("│ " if joints else "  ")
        for line in _link_lines(inspection, tree.link[name]):
            yield Text.assemble((lead, "dim"), line)
            lead = further
        for joint in joints:
            corner, bar = ("└─", "  ") if joint is joints[-1] else ("├─", "│ ")
            deeper = (rest + corner, rest + bar) if depth < _DEEPEST else (first, rest)
            guides[joint.child] = (*deeper, depth + 1)
    yield Text()
    yield from _total_lines(inspection.totals)


def _link_lines(inspection: Inspection, link: m.Link) -> Iterator[Text]:
    mass = f"  {_number(link.mass)} kg" if link.inertial else ""
    yield Text.assemble((_shown(link.name), "bold"), mass)
    if joint := inspection.tree.parent_joint.get(link.name):
        summary = ", ".join((_motion(joint), *_details(joint)))
        yield Text.assemble((_shown(joint.name), "cyan"), f": {_shown(summary)}")
    for shape in link.shapes:
        role = "visual" if isinstance(shape, m.Visual) else "collision"
        words = _size(shape.geometry, inspection.meshes.by_path), *_placement(shape.origin)
        line = Text.assemble((role, "green"), f" {_shown(', '.join(words))}")
        if isinstance(shape, m.Visual) and (material := shape.material):
            line.append(", ")
            if material.rgba:
                hexadecimal = "#" + "".join(
                    f"{round(255 * part):02x}" for part in material.rgba[:3]
                )
                line.append("■", hexadecimal).append(f" {hexadecimal}")
                opacity = material.rgba[3]
                line.append(f" opacity {_number(opacity)} " if opacity < 1.0 else " ")
            if material.texture_uri:
                line.append(f"texture {_shown(material.texture_uri)} ")
            line.append(_shown(material.name or ""))
        yield line


def _motion(joint: m.Joint) -> str:
    kind: Any = joint.kind
    word, unit = _MOTIONS.get(type(kind), ("", ""))
    text = f"{kind_name(kind)} {word} {_direction(kind.axis)}" if word else kind_name(kind)
    if not unit:
        return text
    ends = kind.range.lower, kind.range.upper
    limits = f"{' to '.join(map(_number, ends))} {unit}"
    return f"{text}, {'unlimited' if ends == (-math.inf, math.inf) else limits}"


def _details(joint: m.Joint) -> Iterator[str]:
    turns = isinstance(joint.kind, m.Revolute | m.Continuous)
    limits = (joint.effort, "N m" if turns else "N"), (joint.velocity, "rad/s" if turns else "m/s")
    yield from (f"{_number(value)} {unit}" for value, unit in limits if value is not None)
    for name in ("damping", "friction"):
        if value := getattr(joint.dynamics, name, None):
            yield f"{name} {_number(value)}"
    if mimic := joint.mimic:
        factor = f" x {_number(mimic.multiplier)}" if mimic.multiplier != 1.0 else ""
        offset = f" + {_number(mimic.offset)}" if mimic.offset else ""
        yield f"follows {mimic.joint}{factor}{offset}"
    yield from _placement(joint.origin)


def _placement(pose: m.Pose) -> Iterator[str]:
    if pose.position != m.IDENTITY.position:
        yield f"at {_vector(pose.position)}"
    if pose.quat_wxyz != m.IDENTITY.quat_wxyz:
        rpy = rpy_from_rotation(rotation_from_quat_wxyz(pose.quat_wxyz))
        # Removes the rounding of an angle of zero that was stored as a quaternion.
        yield f"rpy {_vector(tuple(round(angle, 12) for angle in rpy))}"


def _size(geometry: m.Geometry, meshes: Mapping[str, MeshExtent]) -> str:
    match geometry:
        case m.Box(size):
            return f"box {' x '.join(map(_number, size))} m"
        case m.Sphere(radius):
            return f"sphere r {_number(radius)} m"
        case m.Cylinder(radius, length) | m.Capsule(radius, length):
            return f"{kind_name(geometry)} r {_number(radius)} m, l {_number(length)} m"
        case m.MeshFile(uri, path, scale):
            factor = _number(scale[0]) if len(set(scale)) == 1 else _vector(scale)
            scaled = "" if scale == (1.0, 1.0, 1.0) else f" x {factor}"
            content = "not found" if path is None else "not readable"
            if path is not None and path in meshes:
                content = f"{meshes[path].triangles} triangles"
            name = PurePosixPath(uri.replace("\\", "/")).name
            return f"mesh {name}{scaled} ({content})"
        case _:
            assert_never(geometry)


def _total_lines(totals: Totals) -> Iterator[Text]:
    types = ", ".join(f"{count} {kind}" for kind, count in totals.joints.items())
    freedom, bounds = str(totals.degrees_of_freedom), "no shapes"
    if totals.independent != totals.degrees_of_freedom:
        freedom += f", {totals.independent} of them independent"
    if totals.bounds:
        edges = " x ".join(map(_number, totals.bounds.size))
        bounds = f"{edges} m, from {_vector(totals.bounds.lower)} to {_vector(totals.bounds.upper)}"
    meshes = f"{totals.meshes} files, {totals.triangles} triangles" if totals.meshes else "none"
    rows = {
        "links": str(totals.links),
        "joints": f"{sum(totals.joints.values())}{f' ({types})' if types else ''}",
        "degrees of freedom": freedom,
        "mass": f"{_number(totals.mass)} kg",
        "shapes": f"{totals.visuals} visual, {totals.collisions} collision",
        "meshes": meshes,
        "bounds (zero pose)": bounds,
    }
    width = max(map(len, rows))
    for title, value in rows.items():
        yield Text.assemble((f"{title:{width}}", "bold"), f"  {value}")


def _shown(text: str) -> str:
    return one_line(text, _LONGEST)


def _direction(axis: tuple[float, ...]) -> str:
    units = zip(axis, "XYZ", strict=True)
    named = (f"{'-' if part < 0 else ''}{name}" for part, name in units if abs(part) == 1.0)
    return next(named, _vector(axis))


def _vector(values: tuple[float, ...]) -> str:
    return f"({', '.join(map(_number, values))})"


def _number(value: float) -> str:
    return f"{value + 0.0:.5g}"


def usd_values(usd: Path) -> dict[str, str]:
    """Return each value of the robot in a USD, by the names of its part, such as ``link arm mass``.

    Numbers have six significant digits, fewer than float32.
    """
    document = _document(inspect_usd(usd)[0])
    values = {name: str(document[name]) for name in ("robot", "root")}
    for kind in ("link", "joint"):
        for part in document[f"{kind}s"]:
            values |= _flat(part, f"{kind} {part.pop('name')}")
    return values


def _flat(value: Any, name: str) -> dict[str, str]:  # noqa: ANN401  # any JSON
    match value:
        case dict():
            items = ((k, v) for k, v in value.items() if k not in _NO_VALUES)
        case [dict(), *_]:
            items = ((str(number), v) for number, v in enumerate(value, start=1))
        case list():
            return {name: f"({', '.join(f'{one:.6g}' for one in value)})"}
        case float():
            return {name: f"{value + 0.0:.6g}"}
        case None:
            return {}
        case _:
            return {name: str(value)}
    return {key: text for k, v in items for key, text in _flat(v, f"{name} {k}").items()}


def _document(inspection: Inspection) -> Any:  # noqa: ANN401  # JSON
    """Return a robot as plain data; infinity, which JSON lacks, is None, as absent values."""
    tree = inspection.tree
    links = [
        {
            **_fields(link, "name"),
            **_fields(link.inertial, "mass"),
            "inertial_origin": link.inertial and link.inertial.origin,
            **_fields(link.inertial, "inertia"),
            "visuals": [_shape_json(shape, inspection) for shape in link.visuals],
            "collisions": [_shape_json(shape, inspection) for shape in link.collisions],
        }
        for link in map(tree.link.__getitem__, tree.links)
    ]
    joints = [
        {
            **_fields(joint, "name"),
            "type": kind_name(joint.kind),
            **_fields(joint, "parent", "child", "origin"),
            **_fields(joint.kind, "axis"),
            **_fields(getattr(joint.kind, "range", None), "lower", "upper"),
            **_fields(joint, "effort", "velocity"),
            **_fields(joint.dynamics, "damping", "friction"),
            **_fields(joint, "mimic"),
        }
        for joint in (tree.parent_joint[name] for name in tree.links if name != tree.root)
    ]
    document = {
        "schema_version": SCHEMA_VERSION,
        "robot": inspection.robot.name,
        "root": tree.root,
        "totals": inspection.totals,
        "links": links,
        "joints": joints,
    }
    return msgspec.json.decode(msgspec.json.encode(document))


def _fields(value: object, *names: str) -> Json:
    return {name: getattr(value, name, None) for name in names}


def _shape_json(shape: m.Shape, inspection: Inspection) -> Json:
    geometry = shape.geometry
    described = _fields(shape, "name", "origin")
    if isinstance(geometry, m.MeshFile):
        extent = inspection.meshes.by_path.get(geometry.path or "")
        described |= {"type": "mesh", "uri": geometry.uri, "found": geometry.path is not None}
        described |= {"scale": geometry.scale, **_fields(extent, "triangles")}
    else:
        described |= {"type": kind_name(geometry), **msgspec.to_builtins(geometry)}
    if isinstance(shape, m.Visual):
        material = shape.material
        texture = {"texture": material and material.texture_uri}
        described["material"] = material and {**_fields(material, "name", "rgba"), **texture}
    return described


def robot_graph(inspection: Inspection, language: str) -> str:
    """Return links as boxes and joints as edges, in ``dot`` or as a ``mermaid`` flowchart."""
    tree, dot = inspection.tree, language == "dot"
    keys = {name: f"link{index}" for index, name in enumerate(tree.links)}

    def label(*lines: str) -> str:
        texts = (one_line(line, _LONGEST_LABEL) for line in lines)
        if dot:
            return "\\n".join(text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
        return "<br/>".join(_MERMAID.sub(lambda one: f"#{ord(one[0])};", text) for text in texts)

    nodes, edges = [], []
    for name, key in keys.items():
        inertial = tree.link[name].inertial
        text = label(name, *([f"{_number(inertial.mass)} kg"] if inertial else ()))
        nodes.append(f'  {key} [label="{text}"];' if dot else f'  {key}["{text}"]')
        for joint in tree.child_joints[name]:
            text, child = label(joint.name, _motion(joint)), keys[joint.child]
            edges.append(
                f'  {key} -> {child} [label="{text}"];' if dot else f'  {key} -->|"{text}"| {child}'
            )
    if not dot:
        return "\n".join(["flowchart TD", *nodes, *edges])
    head = (
        f'digraph "{label(inspection.robot.name)}" {{',
        '  node [shape=box, fontname="sans-serif"];',
        '  edge [fontname="sans-serif", fontsize=10];',
    )
    return "\n".join([*head, *nodes, *edges, "}"])


# Simulations

_STATES = {
    "holds": "holds its pose",
    "sags": "does not hold its pose",
    "moves": "does not come to rest",
    "diverges": "diverges",
}
_FAULTS = {"unsettled": "away from the target after 1 s", "short": "not at the limit in the end"}
_NOTES = {
    "weak": "gravity exceeds the effort limit",
    "beyond": "passes a limit by more than 0.1 rad or 10 mm",
}
# Module, distribution and extra of what simulators need.
_OPTIONAL = {
    "PhysX": (("ovphysx", "ovphysx", "physx"),),
    "Newton": (("newton", "newton", "newton"), ("mujoco_warp", "mujoco-warp", "newton")),
}
_UNITS = (("rad", 1.0, "rad"), ("m", 1000.0, "mm"))
_MOST_NAMED = 3


def behave(options: Behave) -> t.ExitCode:
    chosen: tuple[str, ...] = options.simulators or (simulations.MUJOCO, *_OPTIONAL)
    absent: dict[str, Unavailable] = {}
    for name in chosen:
        for needed in _OPTIONAL.get(name, ()):
            if isinstance(found := optional_engine(*needed), Unavailable):
                absent.setdefault(name, found)
    if options.simulators and absent:
        name, reason = next(iter(absent.items()))
        raise t.CommandError(f"{name}: {reason.reason}; {reason.remedy}")
    robot = existing_robot(options.source)
    others = [name for name in chosen if name not in {simulations.MUJOCO, *absent}]
    with t.shown_status("Simulating ..."), temporary_folder() as folder:
        usd = robot.path
        if usd.suffix.lower() not in USD_SUFFIXES:
            usd = _converted(robot, options, folder)
        limits = options.limits
        # Twice the time for all: at its limit, a simulator is reported, and the others count.
        whole = structs.replace(limits, time=2.0 * limits.time)
        simulated = call_on_usd(simulations.behave, usd, others, limits.time, limits=whole)
    rows = [row for row in simulated if row["simulator"] in chosen]
    if options.output_format == "json":
        click.echo(json.dumps(rows, indent=2))
    else:
        t.print_lines(_lines(rows, absent))
    if all(row["status"] != "simulated" for row in rows):
        return t.ExitCode.NOT_DONE
    return t.ExitCode.DONE if all(map(_is_good, rows)) else t.ExitCode.DOES_NOT_CONFORM


def _converted(robot: RobotSource, options: Behave, folder: Path) -> Path:
    chosen = of_robot(with_stated_settings(options.conversion), robot)
    words, hertz = [], options.frequency
    if chosen.base is m.BaseOption.AUTO:
        chosen = structs.replace(chosen, base=m.BaseOption.FIXED)
        words.append("a fixed base (--base)")
    parsed = parse_robot(robot, chosen)
    if chosen.simulation:
        conversion = convert_parsed(parsed, folder / "usd", chosen)
        t.show_diagnostics(conversion.diagnostics)
        usd = conversion.root_layer
    else:
        words.append(f"drives of {hertz:g} Hz (--frequency, --with)" if hertz else "no drives")
        text = simulations.drives(hertz) if hertz else None
        usd = simulations.convert_for_simulation(parsed, folder / "usd", text, chosen)
    if words:
        t.say(f"converted with {' and '.join(words)}")
    return usd


def _is_good(row: Mapping[str, Any]) -> bool:
    return row.get("state") == "holds" and not any(row.get(fault) for fault in _FAULTS)


def _lines(rows: Sequence[Mapping[str, Any]], absent: Mapping[str, Unavailable]) -> Iterator[Text]:
    for row in rows:
        seconds = f"  ({row['seconds']:.1f} s)" if row["seconds"] else ""
        yield Text.assemble(
            t.mark(_is_good(row)), f" {row['simulator']:7} {'; '.join(_words(row))}{seconds}"
        )
    for name, found in absent.items():
        yield Text.assemble(("-", "yellow"), f" {name:7} {found.reason}; {found.remedy}")
    if rows and not any(row.get("driven") for row in rows):
        yield Text("No joint has a drive with stiffness: give gains (urdf-usd init, --with).")


def _words(row: Mapping[str, Any]) -> Iterator[str]:
    if row["status"] != "simulated":
        yield f"refuses the asset: {row['error']}"
        return
    worst = f": joint {row['worst']}" if row["worst"] else ""
    amounts = ((row.get(f"offset_{key}"), scale, unit) for key, scale, unit in _UNITS)
    offsets = [f"{one * scale:.2g} {unit}" for one, scale, unit in amounts if one is not None]
    away = f", {' and '.join(offsets)} away at most" if offsets else ""
    yield f"{_STATES[row['state']]}{worst}{away}"
    if row["driven"] and not any(row.get(fault) for fault in _FAULTS):
        yield f"{t.counted(row['driven'], 'driven joint')} reached targets and limits"
    listed = {text: row.get(key, ()) for key, text in {**_FAULTS, **_NOTES}.items()}
    differing = {name for pair in row.get("differing", ()) for name in pair}
    listed["elsewhere than in MuJoCo"] = sorted(differing)
    for text, joints in listed.items():
        if joints:
            more = f" and {len(joints) - _MOST_NAMED} more" if len(joints) > _MOST_NAMED else ""
            yield f"{text}: joint {', '.join(joints[:_MOST_NAMED])}{more}"
