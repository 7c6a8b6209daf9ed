"""Expansion of xacro files by the package ``xacro``, with locations.

xacro is a programming language, whose time and memory only the limits of the process bound.
Functions of it are replaced during an expansion: those that read files (locations of elements,
no entities, UTF-8), evaluate expressions (nothing internal of Python), read the environment
(only what is allowed) and find packages (as ``package://`` does, without ROS).
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import shlex
import threading
import traceback
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any
from xml.dom import minidom
from xml.parsers import expat

import xacro
from msgspec import Struct
from xacro import color, substitution_args

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError, truncate
from urdf_usd.converter.file_content import read_file
from urdf_usd.converter.urdf.uris import FileResolver
from urdf_usd.converter.urdf.xml import LARGEST_FILE, fatal

SUFFIX = ".xacro"
# Variables of a ROS workspace, which xacro files may read: folders and versions.
ROS_VARIABLES = (
    "AMENT_PREFIX_PATH",
    "CMAKE_PREFIX_PATH",
    "COLCON_PREFIX_PATH",
    "ROS_DISTRO",
    "ROS_ETC_DIR",
    "ROS_PACKAGE_PATH",
    "ROS_PYTHON_VERSION",
    "ROS_ROOT",
    "ROS_VERSION",
)


class Expansion(Struct, frozen=True):
    """An expanded xacro file."""

    text: str  # the URDF, without an XML declaration
    origins: tuple[Location, ...]  # of all elements in the xacro files, in document order
    diagnostics: tuple[Diagnostic, ...]  # warnings
    files: tuple[str, ...] = ()  # that were included, or read as YAML


def allowed_environment(names: Iterable[str] = ()) -> dict[str, str]:
    """Return the environment variables that a xacro file may read, sorted by name."""
    allowed = sorted({*ROS_VARIABLES, *names})
    return {name: os.environ[name] for name in allowed if name in os.environ}


def is_xacro(file: str) -> bool:
    """Return whether the name of a file ends in ``.xacro``."""
    return file.lower().endswith(SUFFIX)


def is_part(refusals: Iterable[str], *, included: bool) -> bool:
    """Return whether a xacro file with errors of these rules is only a part of a robot.

    A part has no links, or does not expand without the definitions of files that include it.
    """
    parts = {"robot-empty", "root-element", "xacro-part"}
    if included:
        parts |= {"xacro-error", "xacro-file-missing"}
    return not parts.isdisjoint(refusals)


# xacro keeps its state in module globals.
_XACRO = threading.Lock()


def expand(
    file: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    *,
    environment: Collection[str] = (),
) -> Expansion:
    """Expand a xacro file.

    ``$(find NAME)`` looks packages up as ``package://NAME`` does. A package that is not
    found becomes ``package://NAME``, because it may only be used as text.

    Raises:
        SourceError: It cannot be expanded.
    """
    resolver = FileResolver(Path(file), packages, os.environ)
    values = allowed_environment(environment)
    folders: dict[str, str] = {}
    files: dict[str, bytes] = {}
    # By rule and message: each is reported once.
    notes: dict[tuple[str, str], Location | None] = {}

    def note(rule: str, message: str) -> None:
        notes.setdefault((rule, message), _current_place())

    def read(path: str) -> bytes:
        files[path] = read_file(Path(path), LARGEST_FILE)
        if not resolver.owns(Path(path), folders):
            note("file-outside", f"{path!r} is outside the robot's own folders")
        return files[path]

    def parse(_: object, path: str) -> minidom.Document:
        try:
            return _document(read(path), path)
        except OSError as error:
            # As in xacro: the error is in the including file.
            xacro.filestack.pop()
            raise xacro.XacroException(f"{error.strerror}: {path}", exc=error) from error

    def message(text: object, *_: object, alt_text: str | None = None, **__: object) -> None:
        if alt_text:  # of a warning or error
            note("xacro-warning", str(text))

    def find(name: str) -> str:
        if name not in folders:
            folders[name] = str(resolver.package(name) or f"package://{name}")
            if folders[name].startswith("package:"):
                note("package-missing", f"package {truncate(repr(name))} is not found")
        return folders[name]

    def env(name: str) -> str:
        if name not in values and name not in environment:
            raise fatal("xacro-environment", _withheld(name), _current_place())
        if name not in values:
            raise _refusal(f"environment variable {name!r} is not set")
        return values[name]

    def optenv(name: str, default: str = "") -> str:
        if name in os.environ and name not in values:
            note("xacro-environment-default", f"{_withheld(name)}; its default is used")
        return values.get(name, default)

    def evaluate(text: str, context: Mapping[str, Any]) -> str:
        """Evaluate ``$(eval ...)``, in which arguments are variables."""
        given = {
            name: substitution_args.convert_value(value, "auto")
            for name, value in context["arg"].items()
        }
        own = {"env": env, "optenv": optenv, "find": find, **given, "arg": given.__getitem__}
        builtins = {"abs": abs, "sum": sum, "true": True, "false": False}
        return str(_evaluate(text, {**xacro.create_global_symbols(), **builtins, **own}))

    def warnings() -> tuple[Diagnostic, ...]:
        start = Location(file, 1, 1)
        return tuple(Diagnostic(*found, place or start) for found, place in notes.items())

    with (
        _XACRO,
        _replaced(
            xacro, parse=parse, open=lambda path: io.BytesIO(read(path)), safe_eval=_evaluate
        ),
        _replaced(
            substitution_args, _eval=evaluate, _eval_find=find, _eval_env=env, _eval_optenv=optenv
        ),
        _replaced(color, message=message),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        xacro.init_stacks(file)
        try:
            data = read_file(Path(file), LARGEST_FILE)
            document: Any = _document(data, file)
            xacro.process_doc(document, mappings=dict(arguments))
            text = document.documentElement.toxml()
        # Expressions can raise anything; every error is reported with its location.
        except Exception as error:  # noqa: BLE001
            raise SourceError((*warnings(), *_errors(error, file))) from None
    contents = b"\n".join((data, *files.values()))
    for name in arguments:
        if name.encode() not in contents:
            what = f"argument {truncate(repr(name))} is not used by {Path(file).name}"
            note("xacro-argument-unused", what)
    origins = (element.getUserData(_PLACE) for element in document.getElementsByTagName("*"))
    return Expansion(text, tuple(origins), warnings(), tuple(files))


@contextlib.contextmanager
def _replaced(module: ModuleType, **values: object) -> Iterator[None]:
    """Replace names of a module; all of its names are restored."""
    names = vars(module)
    former = dict(names)
    names.update(values)
    try:
        yield
    finally:
        names.clear()
        names.update(former)


def _withheld(name: str) -> str:
    option = shlex.quote(truncate(name))
    return f"environment variable {name!r} may not be read without --env {option}"


def _errors(error: BaseException, file: str) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of an exception in an expansion."""
    cause = error
    # xacro's exceptions wrap others.
    while isinstance(inner := getattr(cause, "exc", None), BaseException):
        cause = inner
    if isinstance(cause, SourceError):
        return cause.diagnostics
    rule = "xacro-file-missing" if isinstance(cause, FileNotFoundError) else "xacro-error"
    match cause:
        case RecursionError():
            message = "macros or properties are nested infinitely"
        case OSError(filename=str(path), strerror=str(reason)):
            message = f"{path}: {reason}"
        case _:
            message = " ".join(str(error).split()) or type(cause).__name__
    return (Diagnostic(rule, message, _current_place(error) or Location(file, 1, 1)),)


def _refusal(message: str, place: Location | None = None) -> SourceError:
    return fatal("xacro-error", message, place or _current_place())


_PLACE = "place"
# Local variables in which xacro's functions hold the element being processed.
_ELEMENT_NAMES = ("elt", "node", "tag")


class _Cloning:
    """Copies the location of an element to its clone (DOM UserDataHandler)."""

    def handle(self, _: int, key: str, place: object, __: object, clone: minidom.Node) -> None:
        clone.setUserData(key, place, self)


def _document(data: bytes, file: str) -> minidom.Document:
    """Parse a file; elements and their clones have their location."""
    places: list[Location] = []
    parser = expat.ParserCreate()

    def here() -> Location:
        return Location(file, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)

    def declare_entity(name: str, *_: object) -> None:
        raise _refusal(f"entity {name!r} is declared", here())

    parser.StartElementHandler = lambda *_: places.append(here())
    parser.EntityDeclHandler = declare_entity
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        place = Location(file, error.lineno, error.offset + 1)
        raise _refusal(f"not well-formed: {expat.ErrorString(error.code)}", place) from error
    document = minidom.parseString(data)  # noqa: S318  entities are refused above
    for element, location in zip(document.getElementsByTagName("*"), places, strict=True):
        element.setUserData(_PLACE, location, _Cloning())
    return document


def _current_place(error: BaseException | None = None) -> Location | None:
    """Return the location of the innermost element of xacro's frames, or of those of an error."""
    frames: Iterable[FrameType] = (frame for frame, _ in traceback.walk_stack(None))
    if error is not None:
        frames = reversed([frame for frame, _ in traceback.walk_tb(error.__traceback__)])
    for frame in frames:
        of_xacro = frame.f_globals.get("__name__") == xacro.__name__
        for name in _ELEMENT_NAMES if of_xacro else ():
            element = frame.f_locals.get(name)
            place = element.getUserData(_PLACE) if isinstance(element, minidom.Element) else None
            if isinstance(place, Location):
                return place
    return None


def _evaluate(
    text: str, symbols: dict[str, object], inner: Mapping[str, object] | None = None
) -> object:
    """Evaluate an expression, without names that lead to the internals of Python."""
    tree = ast.parse(text.strip(), mode="eval")
    for node in ast.walk(tree):
        # xacro checks only the outermost names, not those in lambdas. Format strings can
        # contain attributes.
        match node:
            case ast.Attribute(attr="format" | "format_map" as name):
                raise _refusal(f"expressions may not use {name!r}, but %")
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                # The frame of a generator leads to the globals of this module.
                if name.startswith(("__", "gi_")):
                    raise _refusal(f"expressions may not use {name!r}")
    symbols.update(__builtins__={})
    return eval(compile(tree, "<expression>", "eval"), symbols, inner)  # noqa: S307
