"""``urdf-usd inspect``: the parts of a robot, and its joint orders."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from functools import partial

import click
import numpy as np
from msgspec import structs
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from urdf_usd.cli.commands import USD_SUFFIXES, Inspect
from urdf_usd.cli.failures import ARRAYS, require_outputs, write_output
from urdf_usd.cli.robot_views import robot_graph, robot_json, tree_lines
from urdf_usd.cli.sources import existing_robot, of_robot, parse_robot
from urdf_usd.cli.terminal import long_stdout, print_lines, show_diagnostics, shown_status
from urdf_usd.conformance.execution.run import check
from urdf_usd.conformance.execution.worker import call_on_usd
from urdf_usd.conformance.export.reading import inspect_usd
from urdf_usd.conformance.options import CheckOptions
from urdf_usd.converter.conversion import convert
from urdf_usd.converter.inspection import inspect as inspect_robot
from urdf_usd.converter.options import ConvertOptions, Sources
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.corpus import RobotSource
from urdf_usd.reports.summary import joint_orders
from urdf_usd.reports.text import one_line

# Lines are wrapped on terminals only.
_UNWRAPPED = 10_000
_LONGEST = 60
_ABSENT = -1


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
        show_diagnostics(diagnostics)
    else:
        inspection = inspect_robot(parse_robot(robot, sources).robot)
    match options.output_format:
        case "json":
            click.echo(robot_json(inspection))
        case "dot" | "mermaid" as language:
            click.echo(robot_graph(inspection, language))
        case "text":
            console = long_stdout()
            width = console.width if console.is_terminal else _UNWRAPPED
            print_lines(tree_lines(inspection, console, width))


def _show_joints(robot: RobotSource, sources: Sources, options: Inspect) -> None:
    require_outputs([(options.numpy_file, ARRAYS)], (robot.path, options.usd))
    read = structs.asdict(sources)
    with shown_status("Reading joints ..."), temporary_folder() as folder:
        usd = options.usd
        if usd is None:
            usd = convert(robot.path, folder / "usd", ConvertOptions(**read)).root_layer
        comparison = CheckOptions(**read, engines=options.engines, limits=options.limits)
        record = check(robot.path, usd, comparison, name=robot.id)
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
        write_output(options.numpy_file, stream.getvalue())
    if options.output_format == "json":
        document = {
            "robot": record.name,
            "joints": {engine: list(joints) for engine, joints in numbered.items()},
            "maps": {name: indices.tolist() for name, indices in maps.items()},
        }
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    # What differs from the first engine is yellow.
    table = Table("joint", box=None, header_style="bold", pad_edge=False)
    for engine in orders.engines:
        table.add_column(engine, justify="right")
    for name, indices in orders.rows:
        cells = (
            Text("-" if one is None else str(one), style="" if one == indices[0] else "yellow")
            for one in indices
        )
        table.add_row(one_line(name, _LONGEST), *cells)
    long_stdout().print(table)


def index_maps(orders: Mapping[str, Sequence[str]]) -> dict[str, NDArray[np.int64]]:
    """Return an index map for every ordered pair of engines.

    Args:
        orders: Names of joints in the order in which an engine numbers them, by engine.

    Returns:
        By ``<from>_to_<to>`` the (n,) indices with which ``q_to = q_from[map]``, where
        q has one entry per joint in the order of an engine. An entry is -1 where the
        first engine lacks the joint.
    """
    return {
        f"{source}_to_{target}": np.array(
            [names.index(name) if name in names else _ABSENT for name in others], dtype=np.int64
        )
        for source, names in orders.items()
        for target, others in orders.items()
        if source != target
    }
