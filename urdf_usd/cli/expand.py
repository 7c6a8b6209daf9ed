"""``urdf-usd expand``: the expansion of a xacro file, and copies of robots."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import click
from lxml import etree

from urdf_usd.cli.commands import Expand
from urdf_usd.cli.failures import CommandError
from urdf_usd.cli.sources import existing_robot, of_robot
from urdf_usd.cli.terminal import say, show_diagnostics
from urdf_usd.converter.inputs import referred_files
from urdf_usd.converter.scratch import scratch_folder
from urdf_usd.converter.urdf.uris import FileResolver
from urdf_usd.converter.urdf.xacro import SUFFIX, is_xacro
from urdf_usd.converter.urdf.xacro import expand as expand_xacro
from urdf_usd.corpus import RobotSource
from urdf_usd.reports.records.environment import DISTRIBUTION

_DECLARATION = '<?xml version="1.0" encoding="utf-8"?>\n'
_FOLDER = "files"
_LICENSES = ("LICENSE*", "LICENCE*", "COPYING*")


def expand(options: Expand) -> None:
    robot = existing_robot(options.source)
    if options.vendor:
        _vendor(robot, options, options.vendor)
        return
    if not is_xacro(str(robot.path)):
        raise CommandError(f"{robot.path.name} is not a {SUFFIX} file; --vendor DIR accepts both")
    click.echo(f"{_DECLARATION}{_expanded(robot, options)}")


def _expanded(robot: RobotSource, options: Expand) -> str:
    sources = of_robot(options.sources, robot)
    expansion = expand_xacro(
        str(robot.path),
        dict(sources.packages),
        dict(sources.arguments),
        environment=sources.environment,
    )
    show_diagnostics(expansion.diagnostics)
    return expansion.text


def _vendor(robot: RobotSource, options: Expand, out: Path) -> None:
    if out.exists() and any(out.iterdir()):
        raise CommandError(f"{out} is not empty; name a new folder")
    xacro = is_xacro(str(robot.path))
    text = _expanded(robot, options).encode() if xacro else robot.path.read_bytes()
    try:
        root = etree.fromstring(text, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        raise CommandError(f"{robot.path}: {error.msg}; correct the XML first") from error
    renamed = _rename_joints(root, options.renamed)
    packages = dict(of_robot(options.sources, robot).packages)
    files = _name_copies(root, FileResolver(robot.path, packages, os.environ))
    license_file = _license_file(robot.path)
    root.addprevious(etree.Comment(_header(robot, options, renamed).replace("--", "- -")))
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", root.get("name") or "").strip(".") or "robot"
    out.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(out.parent) as scratch:
        folder = scratch / out.name
        folder.mkdir()
        for path, target in files.items():
            (folder / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / target)
        root.getroottree().write(folder / f"{name}.urdf", encoding="utf-8", xml_declaration=True)
        if license_file:
            shutil.copyfile(license_file, folder / "LICENSE")
        # Replaces an empty folder.
        folder.rename(out)
    plural = "" if len(files) == 1 else "s"
    say(f"copied {len(files)} file{plural}; licence: {robot.origin.license or 'unknown'}")
    click.echo(out / f"{name}.urdf")


def _rename_joints(root: etree._Element, rules: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Rename joints and what refers to them; return new names by former ones."""
    names = [joint.get("name", "") for joint in root.iterchildren("joint")]
    renamed: dict[str, str] = {}
    for pattern, replacement in rules:
        matching = [name for name in names if re.fullmatch(pattern, name)]
        if not matching:
            raise CommandError(f"--rename-joint: no joint matches {pattern!r}")
        for name in matching:
            renamed.setdefault(name, re.sub(f"^(?:{pattern})$", replacement, name))
    results = [renamed.get(name, name) for name in names]
    if twice := sorted({name for name in results if results.count(name) > 1}):
        raise CommandError(f"--rename-joint: several joints would be named {', '.join(twice)}")
    references = {"joint": ("name",), "gazebo": ("reference",)}
    for element in root.iter(etree.Element):
        # <mimic joint="">, <transmission><joint name="">, <ros2_control><joint name="">
        for key in ("joint", *references.get(str(element.tag), ())):
            if element.get(key) in renamed:
                element.set(key, renamed[element.get(key, "")])
    return {former: name for former, name in renamed.items() if former != name}


def _name_copies(root: etree._Element, resolver: FileResolver) -> dict[Path, Path]:
    """Name files by their paths in the copy; return these by the paths of the files."""
    found: dict[str, Path] = {}
    for uri in dict.fromkeys(one.get("filename", "") for one in root.iter("mesh", "texture")):
        if file := resolver.find(uri):
            found[uri] = file.path
            if file.outside:
                say(f"warning: {uri} is outside of the robot's folders: {file.path}")
        elif uri:
            say(f"warning: {uri} is not found, and not copied")
    # With those that they refer to, such as material libraries and images.
    paths, new = set[Path](), {*found.values()}
    while new:
        paths |= new
        new = {two for one in new for two in referred_files(one.read_bytes(), one)} - paths
    parent = Path(os.path.commonpath([path.parent for path in paths])) if paths else Path()
    files = {path: Path(_FOLDER, path.relative_to(parent)) for path in sorted(paths)}
    for element in root.iter("mesh", "texture"):
        if file_path := found.get(element.get("filename", "")):
            element.set("filename", files[file_path].as_posix())
    return files


def _header(robot: RobotSource, options: Expand, renamed: Mapping[str, str]) -> str:
    origin = robot.origin
    arguments = dict(of_robot(options.sources, robot).arguments)
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
    """Return the licence beside the robot or above it, at most up to its package."""
    for folder in urdf.resolve().parents:
        for pattern in _LICENSES:
            if files := sorted(file for file in folder.glob(pattern) if file.is_file()):
                return files[0]
        if (folder / "package.xml").exists() or (folder / ".git").exists():
            break
    return None
