"""``urdf-usd behave``: what a robot does in simulators."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import structs
from rich.text import Text

from urdf_usd.cli import terminal as t
from urdf_usd.cli.commands import USD_SUFFIXES, Behave
from urdf_usd.cli.sources import existing_robot, of_robot, parse_robot, with_stated_settings
from urdf_usd.conformance.behaviour import simulations
from urdf_usd.conformance.behaviour.simulations import MUJOCO
from urdf_usd.conformance.engines.protocol import Unavailable, optional_engine
from urdf_usd.conformance.execution.worker import call_on_usd
from urdf_usd.converter.conversion import convert_parsed
from urdf_usd.converter.robot.model import BaseOption
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.corpus import RobotSource

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
_NAMES = 3


def behave(options: Behave) -> t.ExitCode:
    chosen: tuple[str, ...] = options.simulators or (MUJOCO, *_OPTIONAL)
    absent: dict[str, Unavailable] = {}
    for name in chosen:
        for needed in _OPTIONAL.get(name, ()):
            if isinstance(found := optional_engine(*needed), Unavailable):
                absent.setdefault(name, found)
    if options.simulators and absent:
        name, reason = next(iter(absent.items()))
        raise t.CommandError(f"{name}: {reason.reason}; {reason.remedy}")
    robot = existing_robot(options.source)
    others = [name for name in chosen if name not in {MUJOCO, *absent}]
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
    if chosen.base is BaseOption.AUTO:
        chosen = structs.replace(chosen, base=BaseOption.FIXED)
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
            more = f" and {len(joints) - _NAMES} more" if len(joints) > _NAMES else ""
            yield f"{text}: joint {', '.join(joints[:_NAMES])}{more}"
