"""The URDF document of a robot, and the files that it needs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from lxml import etree

from urdf_usd.conformance.reduction.edits import document_text, read_document
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.inputs import referred_files
from urdf_usd.converter.urdf.parse import standalone_urdf
from urdf_usd.converter.urdf.uris import FileResolver
from urdf_usd.converter.urdf.xacro import is_xacro
from urdf_usd.converter.urdf.xml import Element, parse_markup
from urdf_usd.corpus import RobotSource

_FILES = ("mesh", "texture")
_FOLDER = "files"


class ReductionError(Exception):
    """A robot cannot be reduced; the message states the cause."""


def standalone_document(source: RobotSource, options: ConvertOptions) -> bytes:
    """Read a robot as a URDF document that names files by absolute paths.

    Raises:
        SourceError: A xacro file cannot be expanded, or malformed XML not be repaired.
        ReductionError: Repaired text has characters that XML does not.
    """
    packages = {name: str(folder) for name, folder in source.packages}
    packages |= dict(options.packages)
    if is_xacro(str(source.path)):
        arguments = dict(source.arguments) | dict(options.arguments)
        text = standalone_urdf(str(source.path), packages, arguments, options.environment)
    else:
        text = source.path.read_bytes()
    try:
        root = read_document(text)
    except etree.XMLSyntaxError:
        repaired = parse_markup(text, str(source.path), [])
        try:
            root = _element(repaired)
        except ValueError as error:
            raise ReductionError(f"{source.path}: cannot be repaired: {error}") from error
    resolver = FileResolver(source.path, packages, os.environ)
    for element in root.iter(*_FILES):
        found = resolver.find(element.get("filename", ""))
        if found:
            element.set("filename", str(found.path))
    return document_text(root)


def _element(repaired: Element) -> etree._Element:
    """Copy a repaired element; names with a prefix are not URDF, and left out."""
    attributes = {name: text for name, text in repaired.attributes if ":" not in name}
    element = etree.Element(repaired.tag, attributes)
    element.text = repaired.text
    element.extend(_element(one) for one in repaired.children if ":" not in one.tag)
    return element


def write_with_files(document: bytes, urdf: Path) -> None:
    """Write a document; files that it names are copied, and named by relative paths.

    Args:
        document: Names files by absolute paths.
        urdf: File to write; its folder exists.
    """
    root = read_document(document)
    named = [
        (element, Path(element.get("filename", "")))
        for element in root.iter(*_FILES)
        if Path(element.get("filename", "")).is_absolute()
    ]
    files: set[Path] = set()
    waiting = [path for _, path in named if path.is_file()]
    while waiting:
        path = waiting.pop()
        if path not in files:
            files.add(path)
            # Others that it refers to, such as material libraries and images.
            waiting += referred_files(path.read_bytes(), path)
    if files:
        parent = Path(os.path.commonpath([path.parent for path in files]))
        for path in sorted(files):
            target = urdf.parent / _FOLDER / path.relative_to(parent)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        for element, path in named:
            if path in files:
                relative = Path(_FOLDER, path.relative_to(parent))
                element.set("filename", relative.as_posix())
    urdf.write_bytes(document_text(root))
