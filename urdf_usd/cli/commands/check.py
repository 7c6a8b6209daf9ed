"""``urdf-usd check``: compare a USD with its URDF."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import click

from urdf_usd.cli.options.execution import memory_option, timeout_option
from urdf_usd.cli.options.given import given_options
from urdf_usd.cli.options.parameters import (
    Arguments,
    HelpfulCommand,
    Packages,
    argument_option,
    base_option,
    collider_tolerance_option,
    colliders_option,
    density_option,
    description_option,
    engine_option,
    env_option,
    existing_robot,
    fail_on_option,
    inertia_option,
    package_option,
    require_engines,
    usd_strict_option,
    usd_variant_option,
    xacro_arguments,
)
from urdf_usd.cli.output.console import show_diagnostics, stdout
from urdf_usd.cli.output.failures import (
    ExitCode,
    held_interrupts,
    warn_of_address_limit,
)
from urdf_usd.cli.output.files import (
    PAGE,
    RECORD,
    require_outputs,
    write_output,
)
from urdf_usd.cli.output.status import shown_status
from urdf_usd.conformance.execution.workers.limits import Limits

if TYPE_CHECKING:
    from urdf_usd.conformance.execution.run import CheckOptions
    from urdf_usd.conformance.gate.decision import FailOn
    from urdf_usd.converter.options import (
        ColliderRule,
        ColliderTolerance,
        VariantChoice,
    )
    from urdf_usd.corpus import RobotSource
    from urdf_usd.reports.records.record import RobotRecord

_TERMINAL = "urdf_usd.reports.terminal"
_FILE = click.Path(path_type=Path, dir_okay=False)
# Options that change no result, those of variants, which each page has of its own, and
# the files of the result.
_NOT_REPEATED = frozenset(
    {
        *("variants", "all_variants", "jobs", "timeout", "memory", "fail_on"),
        *("json_file", "html_file"),
    }
)
# Diagnostics of the USD that concern its files and variants, not the comparison.
_SHOWN = frozenset(
    {
        "asset-outside",
        "asset-outside-refused",
        "variant-required",
        "variant-unselected",
    }
)


@click.command(
    "check",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd check robot.urdf out/robot.usda",
        "urdf-usd check robot.urdf robot.usd --base fixed --html report.html",
        "urdf-usd check pybullet:r2d2.urdf r2d2.usda --engine mujoco --json r2d2.json",
        "urdf-usd check robot.urdf out/robot.usda --with robot.toml",
        "urdf-usd check arm.urdf arm.usd --variant Gripper=none --strict",
        "urdf-usd check arm.urdf arm.usd --all-variants --variant Physics=physx",
    ),
)
@click.argument("urdf", metavar="URDF")
@click.argument("usd", metavar="USD", type=click.Path(path_type=Path, exists=True))
@engine_option
@base_option
@description_option
@inertia_option
@density_option
@colliders_option
@collider_tolerance_option
@package_option
@argument_option
@env_option
@usd_variant_option
@click.option(
    "--all-variants",
    is_flag=True,
    help="Check every combination of variants of the robot, at most 64; those of "
    "--variant are common to all. Variants named 'none' without physics or colliders "
    "are skipped. The worst result decides the exit status; files are numbered: "
    "FILE-1, FILE-2 ...",
)
@click.option(
    "--root",
    metavar="PATH",
    help="Prim of the robot, if it is not below the default prim, or there is none.",
)
@usd_strict_option
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Number of parallel processes.  [default: one per CPU]",
)
@timeout_option
@memory_option
@fail_on_option
@click.option("--json", "json_file", type=_FILE, help="Write the record here.")
@click.option("--html", "html_file", type=_FILE, help="Write the report page here.")
def check_command(
    *,
    urdf: str,
    usd: Path,
    engines: tuple[str, ...],
    base: str,
    description: Path | None,
    inertia: str,
    mass_density: float,
    colliders: tuple[ColliderRule, ...],
    collider_tolerance: ColliderTolerance,
    packages: Packages,
    arguments: Arguments,
    environment: tuple[str, ...],
    variants: tuple[VariantChoice, ...],
    all_variants: bool,
    root: str | None,
    strict: bool,
    jobs: int | None,
    timeout: float,
    memory: int,
    fail_on: str,
    json_file: Path | None,
    html_file: Path | None,
) -> None:
    """Compare a USD with its URDF, quantity by quantity.

    URDF is a URDF or xacro file or a reference such as rd:panda_description; USD is
    the root layer of an asset from any converter. Every engine reads the variants that
    --variant selects.

    A USD is refused if one of its layers or assets is a pipe, a device or a socket, if
    its layers name more than 10000 asset paths or are larger than 4 GiB in total, or
    if composing it exceeds --timeout or --memory.
    """
    source = existing_robot(urdf)
    given = xacro_arguments(source, arguments)
    require_engines(engines)
    warn_of_address_limit()
    with shown_status("Loading engines ...") as status:
        with held_interrupts():
            from urdf_usd.conformance.execution.workers.context import (
                FOR_CHECK,
                FOR_ROBOTS,
                start_loading,
            )

            # In another process, while this one imports what it needs itself.
            start_loading(FOR_ROBOTS if all_variants else FOR_CHECK)
            from urdf_usd.conformance.execution.assembly import summary_of
            from urdf_usd.conformance.execution.run import (
                CheckOptions,
                variant_combinations,
            )
            from urdf_usd.conformance.gate.decision import FailOn
            from urdf_usd.converter.diagnostics import Diagnostic
            from urdf_usd.converter.options import ColliderRules, InertiaOption
            from urdf_usd.converter.robot.body_options import BaseOption
            from urdf_usd.converter.simulation.description import load_description

        options = CheckOptions(
            base=BaseOption(base),
            # The last entry of a name counts: the user's.
            packages=tuple((name, str(path)) for name, path in (*source.packages, *packages)),
            arguments=given,
            environment=environment,
            engines=engines,
            limits=Limits(timeout, memory or None),
            jobs=jobs,
            variants=variants,
            strict=strict,
            root=root,
            simulation=None if description is None else load_description(description),
            inertia=InertiaOption(inertia),
            mass_density=mass_density,
            colliders=ColliderRules(colliders, collider_tolerance),
        )
        status.show("Comparing USD with URDF ...")
        # This process has nothing to do while workers compare.
        Thread(target=import_module, args=(_TERMINAL,), daemon=True).start()
        selections, skipped = (
            variant_combinations(usd, options) if all_variants else ((options,), ())
        )
        files = [(json_file, html_file)]
        if all_variants:
            files = [
                (_numbered(json_file, number), _numbered(html_file, number))
                for number in range(1, len(selections) + 1)
            ]
        require_outputs(
            [one for json, html in files for one in ((json, RECORD), (html, PAGE))],
            (source.path, usd, description),
        )
        records = []
        for one, written in zip(selections, files, strict=True):
            record, scene = _compared(source, usd, one, drawn=html_file is not None)
            records.append(record)
            chosen = [word for text in one.variants for word in ("--variant", str(text))]
            chosen += given_options(_NOT_REPEATED)
            _write_files(record, scene, (urdf, str(usd), *chosen), *written)

    from urdf_usd.reports.terminal import terminal_selections, terminal_summary

    diagnostics = [
        Diagnostic(each.rule, each.message)
        for record in records
        for each in record.diagnostics
        if each.rule in _SHOWN
    ]
    show_diagnostics(dict.fromkeys(diagnostics))
    if all_variants:
        stdout().print(
            terminal_selections(records, [(str(choice), f"no {kind}") for choice, kind in skipped])
        )
    else:
        summary = summary_of(records, [source.reference], {"base": base})
        stdout().print(terminal_summary(summary, records))
    if html_file:
        shown = str(files[0][1])
        if len(files) > 1:
            shown = f"{shown} to {files[-1][1]}"
        click.echo(f"\nPage: {shown}")
    else:
        hint = "a report with all values"
        if not all(record.verdict.agrees for record in records):
            hint = "a report that shows the differences in 3D"
        click.echo(f"\nUse --html FILE for {hint}.")
    click.get_current_context().exit(_worst_exit_code(records, FailOn(fail_on)))


def _worst_exit_code(records: Sequence[RobotRecord], fail_on: FailOn) -> ExitCode:
    """Return the code of the most severe verdict among those that fail."""
    codes = [_exit_code(record, fail_on) for record in records]
    severities = [record.verdict.severity for record in records]
    _, _, code = max(
        (code is not ExitCode.DONE, severity, code)
        for code, severity in zip(codes, severities, strict=True)
    )
    return code


def _exit_code(record: RobotRecord, fail_on: FailOn) -> ExitCode:
    from urdf_usd.conformance.gate.decision import failures
    from urdf_usd.reports.records.record import Verdict

    if not failures((record,), fail_on=fail_on, strict=True, unreadable=True):
        return ExitCode.DONE
    # Otherwise, the URDF or the USD could not be read.
    was_read = record.checks or record.verdict is Verdict.FAILS
    return ExitCode.DOES_NOT_CONFORM if was_read else ExitCode.NOT_DONE


def _numbered(file: Path | None, number: int) -> Path | None:
    return file and file.with_name(f"{file.stem}-{number}{file.suffix}")


def _compared(
    source: RobotSource, usd: Path, options: CheckOptions, *, drawn: bool
) -> tuple[RobotRecord, bytes | None]:
    """Compare; return the record and, if ``drawn``, the packed 3D scene."""
    from urdf_usd.conformance.execution.run import check
    from urdf_usd.converter.scratch import temporary_folder

    with temporary_folder() as work:
        scene = work / "scene.gz" if drawn else None
        record = check(
            source.path,
            usd,
            options,
            name=source.id,
            reference=source.reference,
            scene=scene,
        )
        return record, scene.read_bytes() if scene and scene.exists() else None


def _write_files(
    record: RobotRecord,
    scene: bytes | None,
    sources: tuple[str, ...],
    json_file: Path | None,
    html_file: Path | None,
) -> None:
    from urdf_usd.reports.records.results import record_json

    if json_file:
        write_output(json_file, record_json(record))
    if html_file:
        import shlex

        from urdf_usd.reports.html.site import render_robot

        command = shlex.join(("urdf-usd", "check", *sources, "--html", "robot.html"))
        write_output(html_file, render_robot(record, scene, command).encode())
