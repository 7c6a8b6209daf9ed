"""Robots as other files: ``convert``, ``export``, ``expand``, settings files of ``init``."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path

import click
from lxml import etree
from msgspec import structs

from urdf_usd.cli import parameters as s
from urdf_usd.cli import terminal as t
from urdf_usd.cli.program import Convert, Expand, Export, Init
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.worker import call, call_all, call_on_usd, processors
from urdf_usd.converter.conversion import Conversion, convert_parsed
from urdf_usd.converter.conversion import convert as convert_robot
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.inputs import copy_files
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.converter.robot.model import Base, BaseOption, robot_line
from urdf_usd.converter.scratch import scratch_folder, temporary_folder
from urdf_usd.converter.simulation.settings import SettingsFile
from urdf_usd.converter.simulation.template import CONTACTS, description_template
from urdf_usd.converter.urdf.uris import FileResolver
from urdf_usd.converter.urdf.xacro import SUFFIX, is_xacro
from urdf_usd.converter.urdf.xacro import expand as expand_xacro
from urdf_usd.corpus import RobotSource, parse_reference, resolve_corpora
from urdf_usd.installation import DISTRIBUTION
from urdf_usd.reports.records.results import write_new
from urdf_usd.robots import with_reference

_DECLARATION = '<?xml version="1.0" encoding="utf-8"?>\n'
_FILES = ("mesh", "texture")
_LICENSES = ("LICENSE*", "LICENCE*", "COPYING*")
_CRASHED = "the converter crashed"


def convert(options: Convert) -> t.ExitCode:
    if len(options.sources) > 1 or parse_reference(options.sources[0]).whole:
        return _convert_several(options)
    robot = s.existing_robot(options.sources[0])
    settings = s.with_stated_settings(s.of_robot(options.conversion, robot))
    chosen = _completed(settings, robot, options)
    if s.is_given("--timeout") or s.is_given("--memory"):
        directory, limits = options.directory, options.limits
        outcome = call(convert_robot, robot.path, directory, chosen, limits=limits)
        if isinstance(outcome, ConversionError):
            raise outcome
        if isinstance(outcome, Crashed):
            raise t.CommandError(f"{_CRASHED}: {outcome.reason}")
    else:
        with t.shown_status("") as status:

            def show(mesh: str, number: int, total: int) -> None:
                status.show(f"decomposing {mesh!a}, {number} of {total}")

            outcome = convert_robot(robot.path, options.directory, chosen, progress=show)
    _show_conversion(outcome, chosen.base)
    return t.ExitCode.DONE


def _completed(chosen: ConvertOptions, robot: RobotSource, options: Convert) -> ConvertOptions:
    """Add metadata that is known of a robot, and the options of this command alone."""
    origin, profile = robot.origin, chosen.profile.value
    known = {"asset_license": origin.license} if profile in {"simready", "isaac"} else {}
    if profile == "simready":
        known["author"] = origin.maker
    stated = ((name, text) for name, text in known.items() if text)
    own = {name: getattr(options, name) for name in ("strict", "root", "scene")}
    # The last entry of a name counts: the user's.
    return structs.replace(chosen, metadata=(*stated, *chosen.metadata), **own)


def _show_conversion(conversion: Conversion, requested: BaseOption, prefix: str = "") -> None:
    t.show_diagnostics(conversion.diagnostics)
    line = robot_line(conversion.robot, conversion.diagnostics)
    summary = f"{prefix}converted {line}; {conversion.base} base"
    if requested is BaseOption.AUTO and conversion.base is Base.FLOATING:
        summary += " (--base fixed attaches it to the world)"
    t.say(summary)
    click.echo(conversion.root_layer)


def _convert_several(options: Convert) -> t.ExitCode:
    with t.shown_status("Looking for robots ...") as status:
        found = resolve_corpora(options.sources, status.say)
        settings = s.with_stated_settings(options.conversion)
        robots, calls = [], []
        for robot in found:
            if not isinstance(robot, RobotSource):
                status.say(f"error: {robot.reference}: {robot.reason}")
                continue
            arguments = settings.arguments if is_xacro(str(robot.path)) else ()
            own = with_reference(structs.replace(settings, arguments=arguments), robot)
            robots.append(robot)
            calls.append(
                (robot.path, options.directory / robot.id, _completed(own, robot, options))
            )
        converted, total, jobs = 0, len(found), options.jobs or processors()
        done: dict[int, Conversion | ConversionError | Crashed] = {}
        with contextlib.closing(call_all(convert_robot, calls, options.limits, jobs)) as results:
            for number, robot in enumerate(robots):
                while number not in done:
                    done.update([next(results)])
                status.show("")
                match done.pop(number):
                    case Conversion() as conversion:
                        converted += 1
                        _show_conversion(conversion, settings.base, f"{robot.reference}: ")
                    case Crashed(reason):
                        t.say(f"error: {robot.reference}: {_CRASHED}: {reason}")
                    case error if s.is_only_part(robot, [one.rule for one in error.diagnostics]):
                        total -= 1
                    case error:
                        t.show_diagnostics(error.diagnostics)
                        reason = t.refused_warnings(error)
                        t.say(f"error: {robot.reference}: not converted{reason and f': {reason}'}")
                status.show(f"{converted} of {total} robots are converted")
    t.say(f"{converted} of {total} robots are converted")
    return t.ExitCode.DONE if converted == total else t.ExitCode.NOT_DONE


def init(options: Init) -> None:
    robot = s.existing_robot(options.source)
    parsed = s.parse_robot(robot, s.of_robot(options.sources, robot))
    target = options.file or Path(f"{robot.path.name.partition('.')[0]}.toml")
    if target.exists():
        raise t.CommandError(f"{target} exists and is not overwritten")
    with temporary_folder() as scratch:
        settings = ConvertOptions(simulation=SettingsFile(str(target), "", "", CONTACTS))
        asset = convert_parsed(parsed, scratch / "asset", settings)
    rules = {"collision-overlap", "collision-touch"}
    contacts = [one for one in asset.diagnostics if one.rule in rules]
    text = description_template(parsed.robot, asset.base, options.source, contacts)
    write_new(target, text.encode())
    t.show_diagnostics(parsed.diagnostics)
    click.echo(target)


def export(options: Export) -> None:
    # The harness, which the other commands do not need.
    from urdf_usd.conformance.export.assets import prepare_export, write_export

    reading = structs.asdict(options.reading)
    prepare = partial(prepare_export, root=options.root, loops=options.loops, **reading)
    prepared = call_on_usd(prepare, options.usd, options.urdf, limits=options.limits)
    written = write_export(prepared, force=options.force)
    t.show_diagnostics(written.diagnostics)
    click.echo(written.urdf)


def expand(options: Expand) -> None:
    robot = s.existing_robot(options.source)
    if options.vendor:
        _vendor(robot, options, options.vendor)
        return
    if not is_xacro(str(robot.path)):
        raise t.CommandError(f"{robot.path.name} is not a {SUFFIX} file; --vendor DIR accepts both")
    click.echo(f"{_DECLARATION}{_expanded(robot, options)}")


def _expanded(robot: RobotSource, options: Expand) -> str:
    own = s.of_robot(options.sources, robot)
    expansion = expand_xacro(str(robot.path), **s.keywords(own))
    t.show_diagnostics(expansion.diagnostics)
    return expansion.text


def _vendor(robot: RobotSource, options: Expand, out: Path) -> None:
    if out.exists() and any(out.iterdir()):
        raise t.CommandError(f"{out} is not empty; name a new folder")
    xacro = is_xacro(str(robot.path))
    text = _expanded(robot, options).encode() if xacro else robot.path.read_bytes()
    try:
        root = etree.fromstring(text, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        raise t.CommandError(f"{robot.path}: {error.msg}; correct the XML first") from error
    renamed = _rename_joints(root, options.renamed)
    packages = dict(s.of_robot(options.sources, robot).packages)
    resolver = FileResolver(robot.path, packages, os.environ)
    found = {uri: resolver.find(uri) for one in root.iter(*_FILES) if (uri := one.get("filename"))}
    for uri, file in found.items():
        if file is None:
            t.say(f"warning: {uri} is not found, and not copied")
        elif file.outside:
            t.say(f"warning: {uri} is outside of the robot's folders: {file.path}")
    for element in root.iter(*_FILES):
        if file := found.get(element.get("filename", "")):
            element.set("filename", str(file.path))
    license_file = _license_file(robot.path)
    root.addprevious(etree.Comment(_header(robot, options, renamed).replace("--", "- -")))
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", root.get("name") or "").strip(".") or "robot"
    out.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(out.parent) as scratch:
        folder = scratch / out.name
        folder.mkdir()
        copied = t.counted(copy_files(root, folder), "file")
        root.getroottree().write(folder / f"{name}.urdf", encoding="utf-8", xml_declaration=True)
        if license_file:
            shutil.copyfile(license_file, folder / "LICENSE")
        # Replaces an empty folder.
        folder.rename(out)
    t.say(f"copied {copied}; licence: {robot.origin.license or 'unknown'}")
    click.echo(out / f"{name}.urdf")


def _rename_joints(root: etree._Element, rules: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Rename joints and what refers to them; return new names by former ones."""
    names = [joint.get("name", "") for joint in root.iterchildren("joint")]
    renamed: dict[str, str] = {}
    for pattern, replacement in rules:
        matching = [name for name in names if re.fullmatch(pattern, name)]
        if not matching:
            raise t.CommandError(f"--rename-joint: no joint matches {pattern!r}")
        for name in matching:
            renamed.setdefault(name, re.sub(f"^(?:{pattern})$", replacement, name))
    results = [renamed.get(name, name) for name in names]
    if twice := sorted({name for name in results if results.count(name) > 1}):
        raise t.CommandError(f"--rename-joint: several joints would be named {', '.join(twice)}")
    references = {"joint": ("name",), "gazebo": ("reference",)}
    for element in root.iter(etree.Element):
        # <mimic joint="">, <transmission><joint name="">, <ros2_control><joint name="">
        for key in ("joint", *references.get(str(element.tag), ())):
            if element.get(key) in renamed:
                element.set(key, renamed[element.get(key, "")])
    return {former: name for former, name in renamed.items() if former != name}


def _header(robot: RobotSource, options: Expand, renamed: Mapping[str, str]) -> str:
    origin = robot.origin
    arguments = dict(s.of_robot(options.sources, robot).arguments)
    lines = {
        "Written by": f"{DISTRIBUTION} {metadata.version(DISTRIBUTION)}; change the source instead",
        "Source": robot.reference,
        "Repository": origin.repository,
        "Commit": origin.commit,
        "Distribution": origin.distribution,
        "Licence": origin.license or "unknown; find out before you publish this file",
        "Xacro arguments": " ".join(f"{name}:={value}" for name, value in arguments.items()),
        "Renamed joints": ", ".join(f"{former} to {name}" for former, name in renamed.items()),
    }
    return "\n".join(["", *(f"  {key}: {text}" for key, text in lines.items() if text), ""])


def _license_file(urdf: Path) -> Path | None:
    for folder in urdf.resolve().parents:
        for pattern in _LICENSES:
            if files := sorted(file for file in folder.glob(pattern) if file.is_file()):
                return files[0]
        if (folder / "package.xml").exists() or (folder / ".git").exists():
            break
    return None
