"""``urdf-usd compare``: compare two descriptions of a robot."""

from __future__ import annotations

import shlex

import click

from urdf_usd.cli.check import exit_code
from urdf_usd.cli.commands import Compare
from urdf_usd.cli.failures import ExitCode
from urdf_usd.cli.files import PAGE, RECORD, require_outputs, write_output
from urdf_usd.cli.options import existing_robot
from urdf_usd.cli.terminal import print_view, shown_status
from urdf_usd.conformance.execution.record import summary_of
from urdf_usd.conformance.execution.run import compare_descriptions
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.reports.html.site import render_robot
from urdf_usd.reports.records.results import record_json
from urdf_usd.reports.summary import Figures
from urdf_usd.reports.terminal import terminal_summary


def compare(options: Compare) -> ExitCode:
    first, second = existing_robot(options.first), existing_robot(options.second)
    outputs = [(options.json_file, RECORD), (options.html_file, PAGE)]
    require_outputs(outputs, (first.path, second.path))
    with shown_status("Comparing descriptions ..."), temporary_folder() as work:
        scene = work / "scene.gz" if options.html_file else None
        record = compare_descriptions(
            first,
            second,
            options.mapped,
            sources=options.sources,
            engines=options.engines,
            limits=options.limits,
            scene=scene,
        )
        if options.json_file:
            write_output(options.json_file, record_json(record))
        if options.html_file:
            drawn = scene.read_bytes() if scene and scene.exists() else None
            pairs = (word for pair in options.mapped for word in ("--map", "=".join(pair)))
            words = ("urdf-usd", "compare", options.first, options.second, *pairs)
            command = shlex.join((*words, "--html", "robot.html"))
            write_output(options.html_file, render_robot(record, drawn, command).encode())
    summary = summary_of([record], [first.reference], {})
    print_view(terminal_summary(Figures.of(summary, [record])))
    shown = f"Page: {options.html_file}" if options.html_file else "Use --html FILE for a report."
    click.echo(f"\n{shown}")
    return exit_code(record, options.fail_on)
